/**
 * Notifications of the app-server that are no output of a run: those that people read (compaction, another model, limits, warnings, refusals), and
 * those that are ignored, each group with its reason. A notification that is neither here nor read is counted as unknown.
 *
 * Does not: remember what was reported. A notice that is repeated has the same text.
 */
import { arrayOf, countOf, type JsonObject, objectOf, textOf } from "../text/Json.ts"
import type { PayloadOf } from "@corral/domain/run/RunEvent"

/**
 * Notifications of the app-server without an output, each group with its reason. A notification that is neither here nor read is counted as
 * unknown.
 */
const ignored: ReadonlyArray<readonly [reason: string, methods: ReadonlyArray<string>]> = [
  [
    "Progress that the end of its item repeats.",
    [
      "item/commandExecution/outputDelta",
      "item/commandExecution/terminalInteraction",
      "item/fileChange/outputDelta",
      "item/mcpToolCall/progress",
      "item/plan/delta",
      "item/reasoning/summaryPartAdded",
      "model/safetyBuffering/updated"
    ]
  ],
  [
    "Settings, and state of the program outside of the run.",
    [
      "account/gatewayOAuth/changed",
      "account/login/completed",
      "account/updated",
      "app/list/updated",
      "externalAgentConfig/import/completed",
      "externalAgentConfig/import/progress",
      "mcpServer/oauthLogin/completed",
      "modelProvider/authRecoveryCompleted",
      "modelProvider/authRecoveryStarted",
      "project/changed",
      "remoteControl/status/changed",
      "skills/changed",
      "windowsSandbox/setupCompleted"
    ]
  ],
  [
    "About Codex's configuration on this machine, in every run. Codex shows them to its owner.",
    ["configWarning", "deprecationNotice"]
  ],
  [
    "How a client lists and names threads. What a thread does is in its turns and items.",
    [
      "thread/archived",
      "thread/attachment/updated",
      "thread/deleted",
      "thread/environment/connected",
      "thread/environment/disconnected",
      "thread/name/updated",
      "thread/prediction/updated",
      "thread/project/updated",
      "thread/queue/changed",
      "thread/readState/changed",
      "thread/reverted",
      "thread/section/changed",
      "thread/settings/updated",
      "thread/started",
      "thread/unarchived"
    ]
  ],
  [
    "Responses to requests that Corral does not send.",
    [
      "command/exec/outputDelta",
      "fs/changed",
      "fuzzyFileSearch/sessionCompleted",
      "fuzzyFileSearch/sessionUpdated",
      "mcpServer/event/stream/notification",
      "process/exited",
      "process/outputDelta",
      "rawResponse/completed",
      "rawResponseItem/completed",
      "thread/realtime/closed",
      "thread/realtime/error",
      "thread/realtime/item/completed",
      "thread/realtime/item/started",
      "thread/realtime/item/transcript/delta",
      "thread/realtime/itemAdded",
      "thread/realtime/outputAudio/delta",
      "thread/realtime/sdp",
      "thread/realtime/started",
      "thread/realtime/transcript/delta",
      "thread/realtime/transcript/done",
      "thread/search/partial"
    ]
  ],
  [
    "Reviews by a model, which Corral replaces with the user's decisions, and hooks, whose effect is in the items.",
    [
      "autoApprovalReview/strictReviewRequired",
      "hook/completed",
      "hook/started",
      "item/autoApprovalReview/completed",
      "item/autoApprovalReview/started",
      "turn/moderationMetadata"
    ]
  ]
]

const names = new Set(ignored.flatMap(([, methods]) => methods))

/** Whether a notification is known and has no output. */
export const isIgnored = (method: string): boolean => names.has(method)

/** A notification that people read. */
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
