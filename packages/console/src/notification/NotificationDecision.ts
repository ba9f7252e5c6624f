/** Which changes notify the user, and when. Pure. */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"

/** A change that can notify: an approval or a question that waits, or a run that has ended by itself. */
export type NotifiableChange =
  | (Extract<ChangeHint, { kind: "approval" }> & { readonly state: "pending" })
  | (Extract<ChangeHint, { kind: "input" }> & { readonly state: "pending" })
  | (Extract<ChangeHint, { kind: "run" }> & { readonly state: "completed" | "failed" })

export const isNotifiable = (hint: ChangeHint): hint is NotifiableChange =>
  ((hint.kind === "approval" || hint.kind === "input") && hint.state === "pending") ||
  (hint.kind === "run" && (hint.state === "completed" || hint.state === "failed"))

/** Identifies the item in all tabs of the browser. */
export const notificationKey = ({ id, kind }: Pick<ChangeHint, "id" | "kind">): string => `${kind} ${id}`

export interface NotificationContext {
  readonly isOn: boolean
  readonly isHidden: boolean
  /** Whether another tab of the console is visible: its reader sees the change there. */
  readonly isVisibleElsewhere: boolean
  /** When the page was opened, in milliseconds since 1970. What waited before is not new. */
  readonly openedAt: number
}

/** `at` is when the approval was requested or the run ended, in ISO 8601. */
export const isNews = (at: string, context: NotificationContext): boolean =>
  context.isOn && context.isHidden && !context.isVisibleElsewhere && Date.parse(at) >= context.openedAt

/** Keys of all tabs that are remembered. */
const MAX_CLAIMS = 200

/** Text of the claims with the key, or undefined if another tab has claimed it. A damaged text has no claims. */
export const withClaim = (text: string | null, key: string): string | undefined => {
  const claims = (text ?? "").split("\n").filter((each) => each !== "")
  return claims.includes(key) ? undefined : [...claims, key].slice(-MAX_CLAIMS).join("\n")
}
