"""Wordings of servers about a call that is too long for a model's context, and about anything else."""

# ruff: noqa: E501, RUF001 - what servers say

from __future__ import annotations

from typing import Any

TOO_LONG: list[tuple[int, Any]] = [
    (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 16385 tokens. However, your messages resulted in 20117 tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
    (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 214358 tokens > 200000 maximum"},
        },
    ),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length or `max_tokens` and try again",
            },
        },
    ),
    (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1203344) exceeds the maximum number of tokens allowed (1048576).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    (400, {"message": "Input is too long for requested model."}),
    (400, {"message": "The model returned the following errors: prompt is too long: 201345 tokens > 200000 maximum"}),
    (
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 40961) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    (
        400,
        {
            "error": {
                "message": "You passed 32769 input tokens and requested 0 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 32768 tokens.",
                "code": 400,
            }
        },
    ),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing the context size or enable context shift",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9021,
                "n_ctx": 8192,
            }
        },
    ),
    (400, {"error": "input length exceeds the context length"}),
    (
        400,
        {
            "object": "error",
            "message": "Prompt contains 140512 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
            "type": "invalid_request_prompt",
            "param": None,
            "code": "3051",
        },
    ),
    (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (65904 in the messages, 4096 in the completion).",
                "type": "invalid_request_error",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "模型的最大上下文长度为 32768 个 token，但您的输入包含 40210 个 token。",
                "code": "1261",
            }
        },
    ),
    (400, {"error": {"message": "Range of input length should be [1, 129024]", "code": "invalid_parameter_error"}}),
    (413, {"error": {"message": "Request body holds 310000 tokens, the model's window is 262144 tokens"}}),
    (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5120 `inputs` tokens and 512 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Die Eingabe umfasst 130.500 Tokens, das Kontextfenster des Modells fasst nur 128.000 Tokens."
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
                "code": "context_length_exceeded",
                "param": "input",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": 'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 140012 tokens (131820 of text input, 8192 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
                "code": 400,
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Requested token count exceeds the model's maximum context length of 40960 tokens. You requested a total of 45000 tokens: 41000 tokens from the input messages and 4000 tokens for the completion."
            }
        },
    ),
    (400, {"detail": "Total tokens of image and text exceed max message tokens: 262144, got 270001"}),
    (
        400,
        {
            "error": {
                "message": "Invalid request: Your request exceeded model token limit: 131072 (requested: 150231)",
                "type": "invalid_request_error",
            }
        },
    ),
    (
        400,
        {
            "message": "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 130021. Try using a shorter prompt."
        },
    ),
    (
        400,
        {
            "error": {
                "message": "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long",
                "code": "400",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Please reduce the length of the messages or completion.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
                "param": "messages",
            }
        },
    ),
    (
        400,
        {"error": {"message": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}},
    ),
    (400, {"error": {"message": "La solicitud contiene 9120 tokens y supera la longitud de contexto de 8192 tokens"}}),
    (400, {"error": {"message": "入力トークン数 (210000) がモデルのコンテキスト長 (200000) を超えています"}}),
    (400, {"error": {"message": "La requête compte 36000 jetons, la fenêtre de contexte n'en admet que 32768."}}),
    (500, {"error": {"message": "Context size has been exceeded.", "code": 500, "type": "server_error"}}),
    (
        400,
        {
            "error": {
                "message": "Error: the prompt (9,412 tokens) does not fit into the model's context of 8,192 tokens"
            }
        },
    ),
    (400, {"error": {"message": "Request too long: 71234 tokens in the messages, this deployment accepts 65536."}}),
    (
        400,
        {
            "detail": [
                {
                    "loc": ["body", "messages"],
                    "msg": "conversation has 50 123 tokens, limit is 32 768",
                    "type": "value_error",
                }
            ]
        },
    ),
    (422, {"message": "messages exceed the model context window (128k)"}),
    (400, {"error": {"message": "Het aantal invoertokens (140211) overschrijdt de maximale contextlengte (131072)"}}),
    (
        400,
        "Bad request: input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 301222 tokens.",
    ),
    (
        400,
        {
            "error": {
                "message": "Your request's tool results and history are too long (210000 tokens). The model supports up to 200000 input tokens."
            }
        },
    ),
    (
        400,
        {
            "message": "ValidationException: The model returned the following errors: Input is too long for requested model."
        },
    ),
    (413, "<html><head><title>413 Request Entity Too Large</title></head><body>nginx</body></html>"),
    (400, {"error": {"message": "O prompt tem 33000 tokens e ultrapassa o limite de contexto de 32768 tokens"}}),
    (400, {"error": {"code": "model_context_window_exceeded", "message": "no room"}}),
    (
        500,
        {
            "error": {
                "message": "Requested tokens (5012) exceed context window of 4096",
                "type": "internal_server_error",
            }
        },
    ),
    (
        400,
        {
            "errors": [
                {
                    "message": "AiError: The estimated number of input and maximum output tokens (9152) exceeded this model context window limit (8192)."
                }
            ]
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": '{"error":{"message":"prompt is too long: 205000 tokens > 200000 maximum"}}'},
            }
        },
    ),
    (400, {"error": {"message": "This model supports at most 131072 tokens as input, got 150003 tokens"}}),
    (400, {"error": {"message": "입력 토큰 수(210000)가 모델의 최대 컨텍스트 길이(200000)를 초과했습니다"}}),
    (400, {"error": {"message": "Количество токенов в запросе 41000 превышает длину контекста модели 32768"}}),
    (400, {"error": {"message": "Sequence length 40000 is bigger than the max sequence length 32768"}}),
    (
        400,
        {
            "message": "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192"
        },
    ),
    (400, {"error": {"message": "Your request exceeded model token limit: 131072", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "Token limit exceeded: 9000/8192"}}),
    (400, {"error": "total tokens 9000 > 8192 max"}),
    (400, {"error": "tokens in request more than max tokens allowed"}),
    (400, {"error": {"message": "プロンプトが長すぎます（9000トークン、上限8192）"}}),
    (400, {"error": {"message": "输入9000个token，最大8192"}}),
    (500, {"error": "The prompt is too long: 9000, model maximum context length: 8192"}),
    (400, {"error": {"message": "max_tokens must be at least 1, got -200.", "type": "BadRequestError"}}),
    (400, {"message": "max_new_tokens must be strictly positive, but is -57"}),
]
SOMETHING_ELSE: list[tuple[int, Any]] = [
    (
        400,
        {
            "error": {
                "message": "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
                "param": "max_tokens",
                "code": None,
            }
        },
    ),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet",
            },
        },
    ),
    (400, {"error": {"message": "max_tokens must be <= 8192", "code": "invalid_value"}}),
    (400, {"error": {"message": "max_tokens must be at least 1, got 0"}}),
    (400, {"error": {"message": "max_tokens must be in 1-8192"}}),
    (
        400,
        {
            "error": {
                "message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
                "type": "invalid_request_error",
            }
        },
    ),
    (
        429,
        {
            "error": {
                "message": "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 28000, Requested 5000. Please try again in 6s.",
                "code": "rate_limit_exceeded",
                "type": "tokens",
            }
        },
    ),
    (
        429,
        {
            "error": {
                "message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.",
                "code": "rate_limit_exceeded",
                "type": "tokens",
            }
        },
    ),
    (
        429,
        {
            "type": "error",
            "error": {
                "type": "rate_limit_error",
                "message": "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
            },
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.",
                "code": "string_above_max_length",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 71 instead.",
                "code": "string_above_max_length",
            }
        },
    ),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "`max_tokens` must be greater than `thinking.budget_tokens` (16000 vs 20000).",
            },
        },
    ),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "thinking.budget_tokens: Input should be greater than or equal to 1024 tokens",
            },
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "code": "unsupported_parameter",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
                "code": "array_above_max_length",
            }
        },
    ),
    (401, {"error": {"message": "The security token included in the request is invalid: token length 40 expected 51"}}),
    (
        400,
        {
            "error": {
                "message": "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens."
            }
        },
    ),
    (
        402,
        {
            "error": {
                "message": "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 7321.",
                "code": 402,
            }
        },
    ),
    (400, {"error": {"message": "unknown model 'gpt-4-32768-context-8192'"}}),
    (400, {"error": {"message": "temperature must be between 0 and 2, got 3"}}),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
            },
        },
    ),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            },
        },
    ),
    (
        429,
        {
            "error": {
                "message": "You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
                "status": "RESOURCE_EXHAUSTED",
                "code": 429,
            }
        },
    ),
    (400, {"error": {"message": "Invalid value: 'stop' has 5 sequences, maximum 4"}}),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "messages.1.content.0.image: at least one of the image dimensions exceed max allowed size: 8000 pixels",
            },
        },
    ),
    (400, {"error": {"message": "max_completion_tokens (40000) exceeds the model's output limit of 32768 tokens"}}),
    (429, {"message": "Too many tokens per day, please wait before trying again."}),
    (400, {"error": {"message": "logprobs: top_logprobs 30 exceeds the maximum of 20"}}),
    (400, {"error": {"message": "max_new_tokens must be strictly positive and at most 4096, got 9000 tokens"}}),
    (400, {"error": {"message": "The context field 'metadata.session' has 520 characters; the maximum length is 512"}}),
    (
        403,
        {
            "error": {
                "message": "Your plan allows a context length of 8192 tokens; upgrade to use models of 131072 tokens"
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "tool call id 'toolu_0000012345' not found in context; expected tokens 'tool_use' before 'tool_result' at messages.12"
            }
        },
    ),
    (503, {"error": {"message": "The server is overloaded: 812 requests in the queue, 40960 tokens waiting"}}),
    (400, {"error": {"message": "Invalid schema for function 'x': 'maxLength' 100000 exceeds 65536"}}),
    (
        429,
        {
            "error": {
                "message": "Too many concurrent requests: 12 of 10. Please reduce the number of parallel requests."
            }
        },
    ),
    (400, {"error": {"message": 'Unknown name "contextLength": Cannot find field.'}}),
    (
        400,
        {
            "error": {
                "message": "messages.5: tool_use ids were found without tool_result blocks immediately after: toolu_019283"
            }
        },
    ),
    (400, {"error": {"message": "Requested 16000 output tokens but this model allows 8192; lower max_tokens"}}),
    (400, {"error": {"message": "max_tokens (100000) must be less than or equal to 8192 for this model"}}),
    (400, {"error": {"message": "Invalid value for 'seed': 99999999999 is larger than 2147483647"}}),
    (400, {"error": {"message": "The prompt was blocked by the content policy (code 40012)"}}),
    (404, {"error": {"message": "The model `gpt-4-32k` with context length 32768 does not exist"}}),
    (400, {"error": {"message": "prompt_cache_key: string is longer than 64 (got 120)"}}),
    (400, {"error": {"message": "Input tag 'thinking' found using 'type' does not match any of the expected tags"}}),
    (529, {"error": {"message": "Overloaded: prompt queue exceeds 1000 requests"}}),
    (400, {"error": {"message": "Request body is 34000000 bytes, the maximum is 33554432 bytes"}}),
    (
        400,
        {
            "error": {
                "message": "max_completion_tokens is too large: 200000. This model supports at most 128000 completion tokens"
            }
        },
    ),
    (400, {"error": {"message": "stop: each sequence must be at most 4 tokens"}}),
    (403, {"error": {"message": "long context beta is not yet available for this subscription: 200000 tokens"}}),
    (400, {"error": {"message": "max_completion_tokens exceeds the token limit of 4096"}}),
    (429, {"error": {"message": "Token limit exceeded: try again in 20s"}}),
    (400, {"error": {"message": "Requests exceed your token limit per minute"}}),
    (400, {"error": {"message": "The completion tokens exceed the token limit"}}),
]
