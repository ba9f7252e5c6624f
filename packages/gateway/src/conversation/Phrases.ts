/** Everything that the Gateway says in a conversation, in its languages. No text repeats a prompt, a path or an output. */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { TaskState } from "@corral/domain/task/Task"
import type { Words } from "../platform/Words.ts"

const words = (en: string, zh: string): Words => ({ en, zh })

export const help = words(
  [
    "Tell me what is to be done, and I have an agent do it. In a group, mention me.",
    "",
    "status – what is going on here",
    "list – your latest tasks",
    "cancel – end what is going on here; cancel 2: the second of several",
    "approve, deny – decide what an agent asks; approve 2: the second of several",
    "use – where work is done; use 2: there, from now on",
    "agent – who does it; agent NAME: that one, from now on",
    "/new TEXT – work that does not go on from what was said before",
    "bind, unbind – link this account to you, or end that",
    "help – this"
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
  "I can only read text so far. Tell me in words what is to be done.",
  "目前我只能阅读文字。请用文字告诉我要做什么。"
)

export const linkTitle = words("Link this account", "关联此账号")
export const linkLines = [
  words(
    "I do not know whose account this is. Open the page, sign in, look whether both names are yours, and type the number that it shows here.",
    "我不知道这个账号属于谁。请打开页面并登录，确认两边的名字都是你，然后把页面上的数字发到这里。"
  ),
  words("It is good for ten minutes and once. Do not pass it on.", "十分钟内有效，只能使用一次。请勿转发。")
]
export const openPage = words("Open the page", "打开页面")
export const tooManyLinks = (minutes: number): Words =>
  words(
    `You have had several links in the last hour. I'll send the next one in ${minutes} min; until then the latest link works.`,
    `过去一小时已向你发送多个链接。${minutes} 分钟后可再次获取；在此之前请使用最近的链接。`
  )
export const lastAnswer = (minutes: number): Words =>
  words(
    `This account isn't linked yet. I've recorded your messages and will answer again in ${minutes} min, or as soon as you type the number from the latest link.`,
    `此账号尚未关联。你的消息已记录；${minutes} 分钟后，或你输入最近链接中的数字后，我会再次回复。`
  )
export const noDirectChat = words(
  'I can\'t send you a direct message. Open a chat with me and say "bind".',
  "我无法给你发送私信。请打开与我的聊天并发送“绑定”。"
)
export const linked = (name: string): Words =>
  words(
    `Linked: here you act as ${name} from now on. Was that not you? Say "unbind".`,
    `已关联：从现在起你在这里以 ${name} 的身份操作。不是你本人？请发送“解绑”。`
  )
export const numberNotNeeded = (name: string): Words =>
  words(
    `This account is already linked to ${name}. To send the number as a task, begin with /run.`,
    `此账号已关联 ${name}。如要把数字作为任务发送，请以 /run 开头。`
  )
export const alreadyLinked = (name: string): Words =>
  words(`This account acts as ${name}. "unbind" ends that.`, `此账号的身份是 ${name}。发送“解绑”可解除。`)
export const unlinked = words("This account is linked to nobody any more.", "此账号已不再与任何人关联。")
export const wrongNumber = (left: number | undefined): Words =>
  left === undefined || left === 0
    ? words('This number links nothing. Say "bind" for a new page.', "这个数字无效。发送“绑定”获取新页面。")
    : words(`That is not the number. ${left} more tries.`, `数字不正确，还可以试 ${left} 次。`)

export const noLocations = words(
  "There is no machine on which you may have work done. Add one at the Hub, and a project whose workspace is on it.",
  "没有你可以使用的机器。请在 Hub 添加机器，以及其工作区所属的项目。"
)
export const whereTitle = words("Where is it to be done?", "在哪里执行？")
export const locationsTitle = words("Where work can be done", "可以执行任务的位置")
export const useHint = words('Choose here, or say "use 2".', "在此选择，或发送“位置 2”。")
export const locationSet = (place: string): Words =>
  words(`From now on here: ${place}`, `以后在这里：${place}`)
export const noSuchLocation = words("There is no place with that number.", "没有这个编号的位置。")
export const noAgent = words("There is no agent at that place that is ready.", "该位置没有可用的智能体。")
export const agentsAre = (names: string, present: string): Words =>
  words(`Agents there: ${names}. Now: ${present}.`, `可用的智能体：${names}。当前：${present}。`)
export const agentIs = (name: string): Words => words(`From now on by ${name}.`, `以后由 ${name} 执行。`)

export const agentIsBusy = words(
  'The agent is still at work and takes no further message now. Say "cancel" to end it, or wait.',
  "智能体仍在工作，暂时不能接收新消息。发送“取消”可结束，或请稍候。"
)
export const sentToAgent = words("I have told the agent.", "已转告智能体。")

export const nothingHere = words("Nothing is going on here.", "这里没有正在进行的任务。")
export const noTasks = words("You have no tasks yet.", "你还没有任务。")
export const cancelled = words("It is being ended.", "正在结束。")
export const whichOne = (count: number, example: string): Words =>
  words(
    `There are ${count}. Say which, such as "${example}".`,
    `共有 ${count} 个，请说明编号，例如“${example}”。`
  )
export const noSuchNumber = words("There is none with that number.", "没有这个编号。")
export const nothingToDecide = words("Nothing waits for a decision here.", "这里没有等待决定的请求。")
export const cardExpired = words("This card is not worth anything any more.", "这张卡片已失效。")
export const cardElsewhere = words(
  "This button only works where the card was first sent.",
  "此按钮仅在卡片最初发送的位置有效。"
)
export const failedHere = words(
  "This could not be done, also after several attempts. Please send it again later.",
  "多次尝试后仍未成功，请稍后再发送一次。"
)

/** What the Hub's refusals mean to who is refused. */
const refusals: Partial<Readonly<Record<ErrorCode, Words>>> = {
  permission_denied: words("You may not do this.", "你没有权限执行此操作。"),
  unauthorized_target: words("You may not have work done on that machine.", "你无权使用那台机器。"),
  target_offline: words("That machine is offline. Try again when it is there.", "那台机器离线，请稍后再试。"),
  workspace_outside_allowlist: words(
    "That workspace is not open to Corral any more.",
    "该工作区已不再开放。"
  ),
  invalid_agent_id: words("That agent is not there any more.", "该智能体已不存在。"),
  runtime_unavailable: words(
    "The agent's program is missing there, or not signed in.",
    "智能体程序缺失或未登录。"
  ),
  approval_expired: words("The time to decide this is over.", "决定的时间已过。"),
  approval_already_resolved: words("Someone has already decided this.", "已有人做出决定。"),
  run_not_cancellable: words("It has ended already.", "任务已经结束。"),
  payload_too_large: words("That is too long for one task.", "内容过长。")
}

export const refusalText = (code: ErrorCode, message: string): Words =>
  refusals[code] ?? words(message, message)

export const decided = (decision: "allow" | "deny"): Words =>
  decision === "allow" ? words("Allowed.", "已允许。") : words("Denied.", "已拒绝。")

const states: Readonly<Record<TaskState, Words>> = {
  pending: words("being started", "正在启动"),
  queued: words("waiting for the machine", "等待机器"),
  dispatched: words("being started", "正在启动"),
  running: words("at work", "进行中"),
  completed: words("done", "已完成"),
  failed: words("failed", "失败"),
  cancelled: words("cancelled", "已取消"),
  expired: words("waited too long", "等待超时")
}
export const taskState = (state: TaskState): Words => states[state]
