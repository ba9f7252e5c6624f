/** Client of a decision or an answer, by the kind of the caller's credential. */
import type { DecisionOrigin } from "@corral/domain/approval/Approval"
import type { PrincipalKind } from "@corral/domain/identity/User"

/** An API key neither decides nor answers. */
export const decisionOriginOf: Readonly<Record<PrincipalKind, DecisionOrigin>> = {
  web: "console",
  desktop: "editor",
  cli: "terminal",
  key: "terminal",
  chat: "chat"
}
