/**
 * Card of a message and its run: the phase, counts and duration.
 *
 * Does not: contain the prompt, the output, a path or a diff.
 */
import { runtimeCauses } from "../answer/Phrases.ts"
import type { Card, CardButton, LocalizedText, Tone } from "../platform/ChatPlatform.ts"
import { hasTaskEnded, LIMIT_REACHED, type Phase, type TaskProgress } from "./TaskProgress.ts"

const titles: Readonly<Record<Phase, readonly [words: LocalizedText, tone: Tone]>> = {
  sending: [{ en: "Sending", zh: "正在转告" }, "neutral"],
  sent: [{ en: "Sent to the agent.", zh: "已转告智能体。" }, "neutral"],
  starting: [{ en: "Starting", zh: "正在启动" }, "neutral"],
  turn: [{ en: "Waiting for its turn", zh: "等待前面的消息完成" }, "neutral"],
  held: [{ en: 'Held. Say "continue" to send it', zh: "已暂缓，发送“继续”即可恢复" }, "attention"],
  queued: [{ en: "Waiting for the machine", zh: "等待机器" }, "neutral"],
  working: [{ en: "Running", zh: "进行中" }, "running"],
  waiting: [{ en: "Needs your decision", zh: "等待决定" }, "attention"],
  completed: [{ en: "Done", zh: "已完成" }, "good"],
  failed: [{ en: "Failed", zh: "失败" }, "bad"],
  cancelled: [{ en: "Cancelled", zh: "已取消" }, "neutral"],
  lost: [{ en: "No longer followed", zh: "不再跟进" }, "neutral"]
}

const pausedTitle: (typeof titles)[Phase] = [{ en: "Paused", zh: "已暂停" }, "neutral"]

const answerTitle: (typeof titles)[Phase] = [{ en: "Needs your answer", zh: "等待回答" }, "attention"]

const backgroundTitle: (typeof titles)[Phase] = [
  { en: "Working in the background", zh: "后台进行中" },
  "running"
]

/** Whether the agent has ended its turn, and works in the background. */
const isInBackground = ({ background = 0, idle, phase }: TaskProgress): boolean =>
  phase === "working" && idle === true && background > 0

/** A paused run that needs a decision still needs it. */
const titleOf = (progress: TaskProgress): (typeof titles)[Phase] => {
  const { paused, phase, questions = 0, waiting } = progress
  if (paused === true && (phase === "starting" || phase === "working")) return pausedTitle
  if (phase === "waiting" && waiting === 0 && questions > 0) return answerTitle
  return isInBackground(progress) ? backgroundTitle : titles[phase]
}

const backgroundLine = (progress: TaskProgress): LocalizedText | undefined =>
  isInBackground(progress)
    ? {
        en: `Working in the background: ${progress.background}`,
        zh: `后台工作：${progress.background} 项`
      }
    : undefined

export const phaseTitle = (progress: TaskProgress): LocalizedText => titleOf(progress)[0]

/** Causes of failure, by error code. */
const causes: Readonly<Record<string, LocalizedText>> = {
  runtime_unavailable: {
    en: "The agent's program did not complete the run.",
    zh: "智能体程序未能完成此次运行。"
  },
  work_unfinished: {
    en: "The background work was ended before it was done.",
    zh: "后台工作在完成之前被结束。"
  },
  budget_exceeded: { en: "The run used up its budget.", zh: "已用完此次运行的预算。" },
  [LIMIT_REACHED]: {
    en: "The limit for today does not allow another run.",
    zh: "今天的限额不足以再运行一次。"
  },
  run_timeout: { en: "The run exceeded its time limit.", zh: "超出了允许的时间。" },
  target_offline: { en: "The machine was offline.", zh: "机器离线。" },
  approval_rejected: { en: "A requested action was not approved.", zh: "其请求未获批准。" },
  permission_denied: { en: "The permission is missing.", zh: "没有权限。" }
}

const causeOf = ({ code, remedy }: TaskProgress): LocalizedText | undefined =>
  remedy === undefined ? causes[code ?? ""] : runtimeCauses[remedy]

const withoutMemory: LocalizedText = {
  en: "The agent doesn't remember the earlier messages. It received them as a text.",
  zh: "智能体不记得之前的消息，已将其作为文字一并提供。"
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

const activity = ({ changes, changesUnknown, diff, tools }: TaskProgress): LocalizedText | undefined => {
  const en: Array<string> = []
  const zh: Array<string> = []
  if (tools > 0) {
    en.push(counted(tools, "tool call", "tool calls"))
    zh.push(`${tools} 次工具调用`)
  }
  if (changesUnknown === true) {
    en.push("changes unknown")
    zh.push("更改未知")
  } else if (diff !== undefined) {
    en.push(`${counted(diff.files, "file", "files")} changed (+${diff.additions} −${diff.deletions})`)
    zh.push(`${diff.files} 个文件有改动（+${diff.additions} −${diff.deletions}）`)
  } else if (changes > 0) {
    en.push(counted(changes, "file change", "file changes"))
    zh.push(`${changes} 次文件改动`)
  }
  return en.length === 0 ? undefined : { en: en.join(", "), zh: zh.join("，") }
}

const undecidedLine = ({ undecided = 0 }: TaskProgress): LocalizedText | undefined =>
  undecided === 0
    ? undefined
    : {
        en: `${counted(undecided, "changed file waits", "changed files wait")} for a decision in Corral`,
        zh: `${undecided} 个文件的更改等待在 Corral 中决定`
      }

const acceptedLine = ({ accepted = 0 }: TaskProgress): LocalizedText | undefined =>
  accepted === 0
    ? undefined
    : {
        en: `${counted(accepted, "changed file", "changed files")} accepted`,
        zh: `已接受 ${accepted} 个文件的更改`
      }

/** Counts only: a chat shows no path and no line. */
const acceptLabel = ({
  additions,
  deletions,
  files
}: NonNullable<TaskProgress["acceptable"]>): LocalizedText => ({
  en: `Accept ${counted(files, "file", "files")} (+${additions} −${deletions})`,
  zh: `接受 ${files} 个文件（+${additions} −${deletions}）`
})

const duration = ({ endedAt, startedAt }: TaskProgress): LocalizedText | undefined => {
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
  readonly progress: TaskProgress
  /** Id of the action that stops it. */
  readonly cancel?: string | undefined
  /** Id of the action that ends the work in the background. */
  readonly finish?: string | undefined
  /** Id of the action that accepts all of its changes. */
  readonly accept?: string | undefined
  /** Page of the task at the Hub. */
  readonly url: string
}

export const runCard = ({ accept, cancel, finish, language, place, progress, url }: RunCardInput): Card => {
  const [title, tone] = titleOf(progress)
  const cause = progress.phase === "failed" ? causeOf(progress) : undefined
  const memory = progress.transcript === true ? withoutMemory : undefined
  const lines = [
    { en: place, zh: place },
    activity(progress),
    undecidedLine(progress),
    acceptedLine(progress),
    backgroundLine(progress),
    duration(progress),
    cause,
    memory
  ]
  const buttons: Array<CardButton> = [
    { _tag: "Link", label: { en: "Open in Corral", zh: "在 Corral 中打开" }, url }
  ]
  if (accept !== undefined && progress.acceptable !== undefined)
    buttons.push({
      _tag: "Action",
      label: acceptLabel(progress.acceptable),
      actionId: accept,
      style: "primary"
    })
  if (finish !== undefined && isInBackground(progress))
    buttons.push({
      _tag: "Action",
      label: { en: "Finish", zh: "完成" },
      actionId: finish,
      style: "primary"
    })
  if (cancel !== undefined && !hasTaskEnded(progress))
    buttons.push({
      _tag: "Action",
      label: { en: "Cancel", zh: "取消" },
      actionId: cancel,
      style: "plain"
    })
  return { language, title, tone, lines: lines.filter((line) => line !== undefined), buttons }
}
