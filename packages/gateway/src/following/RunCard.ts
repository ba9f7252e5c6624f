/**
 * The card that follows a task: what has come of it so far, without a word of the prompt, the output, a path or a diff.
 *
 * Pure. `Progress` is all that a log says to a chat; it is plain JSON, so that a Gateway can go on where another one stopped.
 */
import type { Task } from "@corral/domain/task/Task"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import type { Card, CardButton, Tone } from "../platform/Card.ts"
import type { Words } from "../platform/Words.ts"

export type Phase = "queued" | "working" | "waiting" | "completed" | "failed" | "cancelled" | "lost"

export interface Progress {
  readonly phase: Phase
  readonly tools: number
  /** Distinct files are not counted: their paths stay at the Hub. */
  readonly changes: number
  readonly waiting: number
  /** Of the diff, where there is one. */
  readonly diff?:
    | { readonly files: number; readonly additions: number; readonly deletions: number }
    | undefined
  /** A code of the error table. */
  readonly code?: string | undefined
  readonly startedAt?: string | undefined
  readonly endedAt?: string | undefined
}

export const begun: Progress = { phase: "queued", tools: 0, changes: 0, waiting: 0 }

export const isOver = ({ phase }: Progress): boolean =>
  phase === "completed" || phase === "failed" || phase === "cancelled" || phase === "lost"

/** What an event adds. The same object where that is nothing that a card shows. */
export const advanced = (progress: Progress, event: RunEvent): Progress => {
  switch (event.type) {
    case "run.started":
      return { ...progress, phase: "working", startedAt: event.createdAt }
    case "run.tool.call":
      return { ...progress, tools: progress.tools + 1 }
    case "run.file.changed":
      return { ...progress, changes: progress.changes + 1 }
    case "run.diff.ready": {
      const { additions, deletions, files } = event.payload
      return { ...progress, diff: { files, additions, deletions } }
    }
    case "run.approval.requested":
      return { ...progress, phase: "waiting", waiting: progress.waiting + 1 }
    case "run.approval.resolved": {
      const waiting = Math.max(0, progress.waiting - 1)
      return { ...progress, waiting, phase: waiting > 0 ? "waiting" : "working" }
    }
    case "run.completed":
      return { ...progress, phase: "completed", waiting: 0, endedAt: event.createdAt }
    case "run.failed":
      return {
        ...progress,
        phase: "failed",
        waiting: 0,
        code: event.payload.error.code,
        endedAt: event.createdAt
      }
    case "run.cancelled":
      return { ...progress, phase: "cancelled", waiting: 0, endedAt: event.createdAt }
    default:
      return progress
  }
}

/** What a task says that has no run to follow. */
export const withoutRun = (progress: Progress, task: Pick<Task, "state" | "error">): Progress => {
  switch (task.state) {
    case "failed":
      return { ...progress, phase: "failed", code: task.error?.code }
    case "expired":
      return { ...progress, phase: "failed", code: "target_offline" }
    case "cancelled":
      return { ...progress, phase: "cancelled" }
    case "completed":
      return { ...progress, phase: "completed" }
    default:
      return progress
  }
}

const titles: Readonly<Record<Phase, readonly [words: Words, tone: Tone]>> = {
  queued: [{ en: "Waiting for the machine", zh: "等待机器" }, "neutral"],
  working: [{ en: "At work", zh: "进行中" }, "running"],
  waiting: [{ en: "Waiting for a decision", zh: "等待决定" }, "attention"],
  completed: [{ en: "Done", zh: "已完成" }, "good"],
  failed: [{ en: "Failed", zh: "失败" }, "bad"],
  cancelled: [{ en: "Cancelled", zh: "已取消" }, "neutral"],
  lost: [{ en: "Not followed any more", zh: "不再跟进" }, "neutral"]
}

export const phaseWords = ({ phase }: Progress): Words => titles[phase][0]

/** Why a run failed, as far as a chat is told. */
const causes: Readonly<Record<string, Words>> = {
  runtime_unavailable: {
    en: "The agent's program is missing or not signed in.",
    zh: "智能体程序缺失或未登录。"
  },
  run_timeout: { en: "It took longer than it was allowed to.", zh: "超出了允许的时间。" },
  target_offline: { en: "The machine was offline.", zh: "机器离线。" },
  approval_rejected: { en: "What it asked for was not approved.", zh: "其请求未获批准。" },
  permission_denied: { en: "It was not allowed to.", zh: "没有权限。" }
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

const deeds = ({ changes, diff, tools }: Progress): Words | undefined => {
  const en: Array<string> = []
  const zh: Array<string> = []
  if (tools > 0) {
    en.push(counted(tools, "tool call", "tool calls"))
    zh.push(`${tools} 次工具调用`)
  }
  if (diff !== undefined) {
    en.push(`${counted(diff.files, "file", "files")} changed (+${diff.additions} −${diff.deletions})`)
    zh.push(`${diff.files} 个文件有改动（+${diff.additions} −${diff.deletions}）`)
  } else if (changes > 0) {
    en.push(counted(changes, "change of a file", "changes of files"))
    zh.push(`${changes} 次文件改动`)
  }
  return en.length === 0 ? undefined : { en: en.join(", "), zh: zh.join("，") }
}

const took = ({ endedAt, startedAt }: Progress): Words | undefined => {
  if (startedAt === undefined || endedAt === undefined) return undefined
  const seconds = Math.max(0, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000))
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return minutes === 0
    ? { en: `${rest} s`, zh: `${rest} 秒` }
    : { en: `${minutes} min ${rest} s`, zh: `${minutes} 分 ${rest} 秒` }
}

export interface RunCardInput {
  readonly language?: Card["language"]
  /** Names of the project, the machine and the agent. */
  readonly place: string
  readonly progress: Progress
  /** Ends the task; absent where nothing is to be ended. */
  readonly cancel?: string | undefined
  /** Where the Hub shows it. */
  readonly url: string
}

export const runCard = ({ cancel, language, place, progress, url }: RunCardInput): Card => {
  const [title, tone] = titles[progress.phase]
  const cause = progress.phase === "failed" ? causes[progress.code ?? ""] : undefined
  const lines = [{ en: place, zh: place }, deeds(progress), took(progress), cause]
  const buttons: Array<CardButton> = [
    { _tag: "Link", label: { en: "Open in Corral", zh: "在 Corral 中打开" }, url }
  ]
  if (cancel !== undefined && !isOver(progress))
    buttons.push({
      _tag: "Action",
      label: { en: "Cancel", zh: "取消" },
      actionId: cancel,
      style: "plain"
    })
  return { language, title, tone, lines: lines.filter((line) => line !== undefined), buttons }
}
