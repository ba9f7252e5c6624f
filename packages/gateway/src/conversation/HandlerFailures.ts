/** Failures of services as failures of a handler: whether a retry may help. */
import type { SqlError } from "effect/sql"
import { HandlerFailed } from "../handling/Handler.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"

export type ServiceFailed = HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

export const handlerFailureOf = (error: HandlerFailed | ServiceFailed): HandlerFailed => {
  switch (error._tag) {
    case "HandlerFailed":
      return error
    case "SqlError":
      return new HandlerFailed({ message: "The store is unavailable.", permanent: false })
    case "HubRefused":
      return new HandlerFailed({ message: `The Hub refused the call: ${error.code}.`, permanent: true })
    case "NotSent":
      return new HandlerFailed({ message: error.message, permanent: true })
    case "HubUnavailable":
    case "PlatformUnavailable":
      return new HandlerFailed({
        message: error.message,
        permanent: false,
        retryAfterMs: error.retryAfterMs
      })
  }
}
