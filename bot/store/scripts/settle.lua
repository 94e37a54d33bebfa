-- Note what became of calls. ARGV: offset, base, ms an operation is remembered, ms a budget is kept, what was settled.
local forgotten, life = following(), following()
settle(now(), forgotten, life)
return 1
