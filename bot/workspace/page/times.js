// Moments as people say them. A Slack `ts` is seconds since the epoch, as text.

const moment = (ts) => new Date(Number(ts) * 1000);

export function shortTime(ts) {
  return moment(ts).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
}

export function fullTime(ts) {
  return moment(ts).toLocaleString([], { weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" });
}

/** The day a message belongs to: Today, Yesterday, or its date. */
export function dayOf(ts) {
  const day = moment(ts);
  const before = (days) => {
    const other = new Date();
    other.setDate(other.getDate() - days);
    return other.toDateString();
  };
  if (day.toDateString() === before(0)) return "Today";
  if (day.toDateString() === before(1)) return "Yesterday";
  return day.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
}

/** Returns how long ago that was, for the line under a thread's root. */
export function ago(ts) {
  const minutes = Math.floor((Date.now() / 1000 - Number(ts)) / 60);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 60 * 24) return `${Math.floor(minutes / 60)} h ago`;
  return moment(ts).toLocaleDateString([], { day: "numeric", month: "short" });
}
