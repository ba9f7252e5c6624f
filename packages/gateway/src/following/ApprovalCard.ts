/**
 * Card of an approval: the kind of action, its risk, and the decision.
 *
 * Does not: contain the command, the file or the patch. The whole chat sees a card, and the platform stores it; the Hub shows these after
 * sign-in.
 */
import {
  ActionClass,
  type Approval,
  type ApprovalRequest,
  type ApprovalState,
  type DecisionOrigin,
  type DecisionScope,
  Risk
} from "@corral/domain/approval/Approval"
import { Schema } from "effect"
import { type Card, type LocalizedText, sameInAllLanguages } from "../platform/ChatPlatform.ts"

const actions: Readonly<Record<ActionClass, LocalizedText>> = {
  write: { en: "change files", zh: "修改文件" },
  shell: { en: "run a command", zh: "运行命令" },
  network: { en: "use the network", zh: "访问网络" },
  publish: { en: "publish something", zh: "发布内容" },
  deploy: { en: "deploy something", zh: "部署" }
}

const risks: Readonly<Record<Risk, LocalizedText>> = {
  low: { en: "Risk: low", zh: "风险：低" },
  medium: { en: "Risk: medium", zh: "风险：中" },
  high: { en: "Risk: high", zh: "风险：高" }
}

/** The part of a request that is sent to a chat. */
export const ApprovalSummary = Schema.Struct({ action: ActionClass, risk: Risk })
export type ApprovalSummary = typeof ApprovalSummary.Type

export const summarizeApproval = ({ action, risk }: ApprovalRequest): ApprovalSummary => ({ action, risk })

export interface ApprovalCardInput {
  readonly language?: Card["language"]
  readonly summary: ApprovalSummary
  /** Names of the project, the machine and the agent. */
  readonly place: string
  /** Page of the approval at the Hub. */
  readonly url: string
}

const titleOf = ({ action }: ApprovalSummary): LocalizedText => ({
  en: `The agent wants to ${actions[action].en}`,
  zh: `智能体请求${actions[action].zh}`
})

/** Card with one button per decision. */
export const pendingCard = (
  { summary, language, place, url }: ApprovalCardInput,
  { allow, deny }: { readonly allow: string; readonly deny: string }
): Card => ({
  language,
  title: titleOf(summary),
  tone: "attention",
  lines: [
    sameInAllLanguages(place),
    risks[summary.risk],
    { en: "Look at what exactly it would do before you allow it.", zh: "批准前请先查看具体内容。" }
  ],
  buttons: [
    { _tag: "Link", label: { en: "Look", zh: "查看" }, url },
    { _tag: "Action", label: { en: "Allow once", zh: "允许一次" }, actionId: allow, style: "primary" },
    { _tag: "Action", label: { en: "Deny", zh: "拒绝" }, actionId: deny, style: "danger" }
  ]
})

export type ResolvedState = Exclude<ApprovalState, "pending">

/** A decision as a chat shows it, without the original and the edited input. The Hub has both. */
export type CardResolution = Pick<Approval, "edited" | "origin" | "scope"> & {
  readonly state: ResolvedState
  /** A user's id, or another name from the run's log. */
  readonly by?: string | undefined
}

/** The resolution of an approval of the Hub. */
export const toResolution = (
  { decidedBy: by, edited, origin, scope }: Approval,
  state: ResolvedState
): CardResolution => ({
  state,
  by,
  ...(edited === undefined ? {} : { edited }),
  ...(origin === undefined ? {} : { origin }),
  ...(scope === undefined ? {} : { scope })
})

const outcomes: Readonly<Record<ResolvedState, (by: string | undefined) => LocalizedText>> = {
  approved: (by) =>
    by === undefined ? { en: "Allowed", zh: "已允许" } : { en: `Allowed by ${by}`, zh: `${by} 已允许` },
  denied: (by) =>
    by === undefined ? { en: "Denied", zh: "已拒绝" } : { en: `Denied by ${by}`, zh: `${by} 已拒绝` },
  expired: () => ({ en: "Expired without a decision", zh: "已超时，无人决定" }),
  cancelled: () => ({ en: "No longer needed", zh: "已不再需要" })
}

const scopes: Readonly<Record<DecisionScope, LocalizedText>> = {
  once: { en: "once", zh: "仅此一次" },
  run: { en: "for this run", zh: "本次运行内" },
  session: { en: "for this session", zh: "本会话内" },
  always: { en: "from now on", zh: "从现在起" }
}

export const origins: Readonly<Record<DecisionOrigin, LocalizedText>> = {
  console: { en: "in the console", zh: "在控制台" },
  terminal: { en: "in a terminal", zh: "在终端" },
  chat: { en: "in a chat", zh: "在聊天中" },
  editor: { en: "in an editor", zh: "在编辑器中" },
  policy: { en: "by the device's policy", zh: "由设备策略" }
}

const circumstances = ({ edited, origin, scope, state }: CardResolution): LocalizedText | undefined => {
  const parts = [
    ...(state === "approved" && scope !== undefined ? [scopes[scope]] : []),
    ...(origin === undefined || state === "expired" ? [] : [origins[origin]])
  ]
  const changed: LocalizedText = {
    en: "The input was changed first. Look at both.",
    zh: "输入已先被修改，请查看两者。"
  }
  if (parts.length === 0) return edited === true ? changed : undefined
  const en = `${parts.map((part) => part.en).join(", ")}.`
  return {
    en: `${en.charAt(0).toUpperCase()}${en.slice(1)}${edited === true ? ` ${changed.en}` : ""}`,
    zh: `${parts.map((part) => part.zh).join("，")}。${edited === true ? changed.zh : ""}`
  }
}

/** Card without decision buttons. `name` is the deciding user's name. */
export const resolvedCard = (
  { summary, language, place, url }: ApprovalCardInput,
  decision: CardResolution,
  name: string | undefined
): Card => ({
  language,
  title: titleOf(summary),
  tone: decision.state === "approved" ? "good" : decision.state === "denied" ? "bad" : "neutral",
  lines: [sameInAllLanguages(place), outcomes[decision.state](name), circumstances(decision)].filter(
    (line) => line !== undefined
  ),
  buttons: [{ _tag: "Link", label: { en: "Look", zh: "查看" }, url }]
})

/** Answer to a decision on a resolved approval. */
export const alreadyDecidedBy = (by: string | undefined): LocalizedText =>
  by === undefined
    ? { en: "Someone has already decided this.", zh: "已有人做出决定。" }
    : { en: `Already decided by ${by}.`, zh: `${by} 已做出决定。` }
