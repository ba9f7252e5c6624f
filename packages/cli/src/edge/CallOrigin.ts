/** Origin that the calls of a command name for decisions and answers. */
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { Context, Effect } from "effect"

/** `undefined`: the service knows the origin by the credential. */
export const CallOrigin = Context.Reference<"editor" | undefined>("corral/cli/CallOrigin", {
  defaultValue: () => undefined
})

/** Headers of each call, for the access to a service. */
export const originAccess = Effect.map(CallOrigin, (origin) =>
  origin === undefined ? {} : { headers: Effect.succeed({ [ORIGIN_HEADER]: origin }) }
)
