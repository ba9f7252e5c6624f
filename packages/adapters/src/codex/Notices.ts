/**
 * Notifications of Codex that people read: compaction, another model, limits, warnings, refusals.
 *
 * Does not: remember what was reported. A notice that is repeated has the same text.
 */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { arrayOf, countOf, objectOf, textOf, type JsonObject } from "../text/Json.ts"

export type CodexNotice = Pick<PayloadOf<"run.notice">, "kind" | "text" | "data">

const COMPACTED: CodexNotice = {
  kind: "compacted",
  text: "The conversation was compacted, because it had become too long for the model."
}

const REFUSED: CodexNotice = { kind: "refused", text: "The model service moderated an answer." }

/** Share of a limit, in percent, from which on people are warned. */
const NEARLY_USED = 90

const warning = (...texts: ReadonlyArray<unknown>): CodexNotice | undefined => {
  const text = texts.filter((part) => typeof part === "string" && part !== "").join("\n")
  return text === "" ? undefined : { kind: "warning", text }
}

const rateLimitNotice = (params: JsonObject): CodexNotice | undefined => {
  const limits = objectOf(params["rateLimits"])
  const reached = textOf(limits["rateLimitReachedType"])
  if (reached !== undefined || limits["spendControlReached"] === true)
    return {
      kind: "rate_limited",
      text: "The usage limit of Codex's account is reached.",
      data: { type: reached ?? "spend_control" }
    }
  const windows = [objectOf(limits["primary"]), objectOf(limits["secondary"])]
  const used = windows.find(
    ({ usedPercent }) => typeof usedPercent === "number" && usedPercent >= NEARLY_USED
  )
  if (used === undefined) return undefined
  const minutes = countOf(used["windowDurationMins"])
  return {
    kind: "rate_limited",
    text: `${NEARLY_USED} % or more of the usage limit of Codex's account is used.`,
    data: { usedPercent: used["usedPercent"], ...(minutes === undefined ? {} : { windowMinutes: minutes }) }
  }
}

const rerouteNotice = (params: JsonObject): CodexNotice => {
  const [from, to] = [textOf(params["fromModel"]) ?? "?", textOf(params["toModel"]) ?? "?"]
  return {
    kind: "model_changed",
    text: `The model service answers with ${to} instead of ${from}.`,
    data: { from, to, reason: params["reason"] ?? null }
  }
}

const verificationNotice = (params: JsonObject): CodexNotice => ({
  kind: "warning",
  text: "The model service asks to verify the account.",
  data: { verifications: arrayOf(params["verifications"]) }
})

const serverNotice = (params: JsonObject): CodexNotice | undefined =>
  params["status"] === "failed"
    ? warning(`The MCP server ${textOf(params["name"]) ?? ""} did not start.`, params["error"])
    : undefined

/** Notifications of this module, with the notice of each. */
const notices: Readonly<Record<string, (params: JsonObject) => CodexNotice | undefined>> = {
  "account/rateLimits/updated": rateLimitNotice,
  guardianWarning: ({ message }) => warning(message),
  "mcpServer/startupStatus/updated": serverNotice,
  "model/rerouted": rerouteNotice,
  "model/verification": verificationNotice,
  "thread/compacted": () => COMPACTED,
  warning: ({ message }) => warning(message),
  "windows/worldWritableWarning": () => warning("Folders of this machine can be written by every user.")
}

/** Whether people may have to read a notification. */
export const isNotice = (method: string): boolean => Object.hasOwn(notices, method)

/** The notice of a notification; `undefined` if it has nothing for people. */
export const noticeOf = (method: string, params: JsonObject): CodexNotice | undefined =>
  isNotice(method) ? notices[method]?.(params) : undefined

/** The notice of a completed item; `undefined` if it has nothing for people. */
export const noticeOfItem = (item: JsonObject): CodexNotice | undefined => {
  if (item["type"] === "contextCompaction") return COMPACTED
  return objectOf(item["moderation"])["moderated"] === true ? REFUSED : undefined
}
