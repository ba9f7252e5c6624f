/** Texts of the Gateway in conversations, in both languages. No text repeats a prompt, a path or an output. */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { TaskState } from "@corral/domain/task/Task"
import type { LocalizedText } from "../platform/LocalizedText.ts"

const words = (en: string, zh: string): LocalizedText => ({ en, zh })

export const help = words(
  [
    "Describe a task, and I start an agent for it. In a group, mention me.",
    "",
    "status – tasks in progress here",
    "list – your latest tasks",
    "cancel – stop the task here; cancel 2: the second of several",
    "approve, deny – answer an agent's request; approve 2: the second of several",
    "use – where tasks run; use 2: the second location, from now on",
    "agent – which agent runs them; agent NAME: this one, from now on",
    "/new TEXT – a task in a new conversation",
    "bind, unbind – link this account to your user, or unlink it",
    "help – show this list"
  ].join("\n"),
  [
    "告诉我要做什么，我会让智能体去做。在群里请 @ 我。",
    "",
    "状态 – 这里正在进行的任务",
    "列表 – 你最近的任务",
    "取消 – 结束这里的任务；取消 2：第二个",
    "批准、拒绝 – 决定智能体的请求；批准 2：第二个",
    "位置 – 任务在哪里执行；位置 2：以后在那里",
    "智能体 – 由谁执行；智能体 名称：以后由它",
    "新任务 内容 – 不接着之前的对话",
    "绑定、解绑 – 把此账号与你关联，或解除",
    "帮助 – 本说明"
  ].join("\n")
)

export const unknownCommand = words(
  'I don\'t know this command. Say "help" for the list. To send it as a task, begin with /run.',
  "没有这个命令。发送“帮助”查看列表。如要作为任务发送，请以 /run 开头。"
)
export const attachmentsLeft = words(
  "I can't pass on attachments yet. The agent gets your text only.",
  "目前还不能转交附件，智能体只会收到你的文字。"
)

export const onlyText = words(
  "I can only read text so far. Describe the task in words.",
  "目前我只能阅读文字。请用文字告诉我要做什么。"
)

export const linkTitle = words("Link this account", "关联此账号")
export const linkLines = [
  words(
    "I don't know whose account this is. Open the page, sign in, check that both names are yours, and type the number from the page here.",
    "我不知道这个账号属于谁。请打开页面并登录，确认两边的名字都是你，然后把页面上的数字发到这里。"
  ),
  words("The link works once, for ten minutes. Don't share it.", "十分钟内有效，只能使用一次。请勿转发。")
]
export const openPage = words("Open the page", "打开页面")
export const tooManyLinks = (minutes: number): LocalizedText =>
  words(
    `You have had several links in the last hour. I'll send the next one in ${minutes} min; until then the latest link works.`,
    `过去一小时已向你发送多个链接。${minutes} 分钟后可再次获取；在此之前请使用最近的链接。`
  )
export const lastAnswer = (minutes: number): LocalizedText =>
  words(
    `This account isn't linked yet. I've recorded your messages and will answer again in ${minutes} min, or as soon as you type the number from the latest link.`,
    `此账号尚未关联。你的消息已记录；${minutes} 分钟后，或你输入最近链接中的数字后，我会再次回复。`
  )
export const noDirectChat = words(
  'I can\'t send you a direct message. Open a chat with me and say "bind".',
  "我无法给你发送私信。请打开与我的聊天并发送“绑定”。"
)
export const linked = (name: string): LocalizedText =>
  words(
    `Linked: here you act as ${name} from now on. Was that not you? Say "unbind".`,
    `已关联：从现在起你在这里以 ${name} 的身份操作。不是你本人？请发送“解绑”。`
  )
export const numberNotNeeded = (name: string): LocalizedText =>
  words(
    `This account is already linked to ${name}. To send the number as a task, begin with /run.`,
    `此账号已关联 ${name}。如要把数字作为任务发送，请以 /run 开头。`
  )
export const alreadyLinked = (name: string): LocalizedText =>
  words(
    `This account acts as ${name}. Say "unbind" to unlink it.`,
    `此账号的身份是 ${name}。发送“解绑”可解除。`
  )
export const unlinked = words("This account is no longer linked.", "此账号已不再与任何人关联。")
export const wrongNumber = (left: number | undefined): LocalizedText =>
  left === undefined || left === 0
    ? words(
        'This number is no longer valid. Say "bind" for a new page.',
        "这个数字无效。发送“绑定”获取新页面。"
      )
    : words(`Wrong number. ${left} tries left.`, `数字不正确，还可以试 ${left} 次。`)

export const noLocations = words(
  "There is no machine that you can use. Add a machine at the Hub, and a project with a workspace on it.",
  "没有你可以使用的机器。请在 Hub 添加机器，以及其工作区所属的项目。"
)
export const whereTitle = words("Where should the task run?", "在哪里执行？")
export const locationsTitle = words("Available locations", "可以执行任务的位置")
export const useHint = words('Choose here, or say "use 2".', "在此选择，或发送“位置 2”。")
export const locationSet = (place: string): LocalizedText =>
  words(`New tasks run here: ${place}`, `以后在这里：${place}`)
export const noSuchLocation = words("There is no location with this number.", "没有这个编号的位置。")
export const noAgent = words("No agent is ready at this location.", "该位置没有可用的智能体。")
export const agentsAre = (names: string, present: string): LocalizedText =>
  words(
    `Agents at this location: ${names}. Current: ${present}.`,
    `可用的智能体：${names}。当前：${present}。`
  )
export const agentIs = (name: string): LocalizedText =>
  words(`New tasks are run by ${name}.`, `以后由 ${name} 执行。`)

export const agentIsBusy = words(
  'The agent is busy and can\'t take another message now. Say "cancel" to stop it, or wait.',
  "智能体仍在工作，暂时不能接收新消息。发送“取消”可结束，或请稍候。"
)
export const sentToAgent = words("Sent to the agent.", "已转告智能体。")

export const nothingHere = words("No task is in progress here.", "这里没有正在进行的任务。")
export const noTasks = words("You have no tasks yet.", "你还没有任务。")
export const cancelled = words("Cancelling.", "正在结束。")
export const whichOne = (count: number, example: string): LocalizedText =>
  words(
    `There are ${count}. Choose one, such as "${example}".`,
    `共有 ${count} 个，请说明编号，例如“${example}”。`
  )
export const noSuchNumber = words("There is nothing with this number.", "没有这个编号。")
export const nothingToDecide = words("No approval is pending here.", "这里没有等待决定的请求。")
export const cardExpired = words("This card has expired.", "这张卡片已失效。")
export const cardElsewhere = words(
  "This button only works where the card was first sent.",
  "此按钮仅在卡片最初发送的位置有效。"
)
export const failedHere = words(
  "This failed after several attempts. Please send it again later.",
  "多次尝试后仍未成功，请稍后再发送一次。"
)

/** Refusals of the Hub, for users. */
const refusals: Partial<Readonly<Record<ErrorCode, LocalizedText>>> = {
  permission_denied: words("You don't have permission to do this.", "你没有权限执行此操作。"),
  unauthorized_target: words("You can't use this machine.", "你无权使用那台机器。"),
  target_offline: words(
    "This machine is offline. Try again when it is online.",
    "那台机器离线，请稍后再试。"
  ),
  workspace_outside_allowlist: words(
    "This workspace is no longer available to Corral.",
    "该工作区已不再开放。"
  ),
  invalid_agent_id: words("This agent is no longer available.", "该智能体已不存在。"),
  runtime_unavailable: words(
    "The agent's program is missing on the machine, or not signed in.",
    "智能体程序缺失或未登录。"
  ),
  approval_expired: words("This approval has expired.", "决定的时间已过。"),
  approval_already_resolved: words("Someone has already decided this.", "已有人做出决定。"),
  run_not_cancellable: words("The task has already ended.", "任务已经结束。"),
  payload_too_large: words("The text is too long for one task.", "内容过长。")
}

export const refusalText = (code: ErrorCode, message: string): LocalizedText =>
  refusals[code] ?? words(message, message)

export const decided = (decision: "allow" | "deny"): LocalizedText =>
  decision === "allow" ? words("Allowed.", "已允许。") : words("Denied.", "已拒绝。")

const states: Readonly<Record<TaskState, LocalizedText>> = {
  pending: words("being started", "正在启动"),
  queued: words("waiting for the machine", "等待机器"),
  dispatched: words("being started", "正在启动"),
  running: words("running", "进行中"),
  completed: words("done", "已完成"),
  failed: words("failed", "失败"),
  cancelled: words("cancelled", "已取消"),
  expired: words("waited too long", "等待超时")
}
export const taskState = (state: TaskState): LocalizedText => states[state]
