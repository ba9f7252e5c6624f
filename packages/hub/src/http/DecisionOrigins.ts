/** Client of a decision or an answer: an editor that says so, otherwise by the kind of the caller's credential. */
import { type DecisionOrigin, ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import type { PrincipalKind } from "@corral/domain/identity/User"

/** An API key neither decides nor answers. */
const originOfKind: Readonly<Record<PrincipalKind, DecisionOrigin>> = {
  web: "console",
  desktop: "editor",
  cli: "terminal",
  key: "terminal",
  chat: "chat"
}

/** Each person who is signed in can use an editor. Keys and chats cannot. */
export const decisionOriginOf = (
  kind: PrincipalKind,
  { [ORIGIN_HEADER]: origin }: { readonly [ORIGIN_HEADER]?: "terminal" | "editor" | undefined }
): DecisionOrigin =>
  origin === "editor" && kind !== "chat" && kind !== "key" ? "editor" : originOfKind[kind]
