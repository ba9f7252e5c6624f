/** Texts of the Gateway in conversations, in both languages. No text repeats a prompt, a path or an output. */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import { type RuntimeRemedy, runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import { MAX_MESSAGE_TEXT } from "@corral/domain/session/Message"
import type { TaskState } from "@corral/domain/task/Task"
import type { LocalizedText } from "../platform/ChatPlatform.ts"

/** Why the agent's program is unavailable, for users of a chat. The cause that each remedy removes. */
export const runtimeCauses: Readonly<Record<RuntimeRemedy, LocalizedText>> = {
  install: {
    en: "The agent's program is missing on the machine.",
    zh: "机器上没有安装智能体程序。"
  },
  sign_in: {
    en: "The agent's program is not signed in on the machine.",
    zh: "机器上的智能体程序未登录。"
  },
  continue: { en: "The machine restarted during the run.", zh: "运行期间机器重启了。" }
}

const words = (en: string, zh: string): LocalizedText => ({ en, zh })

export const editedTooLate = words(
  'The agent already has the first text of the message that you edited. Write what has changed, or say "stop".',
  "智能体已经收到你编辑前的消息。请把改动发给它，或者说“停止”。"
)

export const deletedTooLate = words(
  'The agent already has the message that you deleted. Say "stop" to end its work.',
  "智能体已经收到你删除的消息。要结束它的工作，请说“停止”。"
)

export const help = words(
  [
    "Write to me, and an agent works on it. In a group, mention me. This chat or thread is one session: further messages continue it, one turn at a time.",
    "",
    "! TEXT – say something to the agent while it works",
    "stop – stop the agent here, and withdraw the messages that wait",
    "continue – send the messages that are held after a stop or an error",
    "new – start a new session here; /new TEXT: with this message",
    "agent – which agents there are; agent NAME: messages here go to this one",
    "limit – the limits of each turn; limit tokens=50000 turns=20 time=30m, or limit off",
    "use – where agents work; use 2: the second location, from now on",
    "status – work in progress here",
    "list – your latest tasks",
    "compare – how far several agents are with the same task, and where to compare them",
    "cancel – stop one message or run; cancel 2: the second of several",
    "approve, deny – answer an agent's request; approve 2: the second of several",
    "bind, unbind – link this account to your user, or unlink it",
    "help – show this list"
  ].join("\n"),
  [
    "把要做的事发给我，智能体会去完成。在群里请 @ 我。这个聊天或话题就是一个会话：后续消息会接着进行，一次处理一条。",
    "",
    "！内容 – 在智能体工作时对它说",
    "停止 – 停止这里的智能体，并撤回等待中的消息",
    "继续 – 发送因停止或出错而暂缓的消息",
    "新会话 – 在这里开始新会话；新会话 内容：同时发送这条消息",
    "智能体 – 有哪些智能体；智能体 名称：这里的消息发给它",
    "限额 – 每一轮的限额；限额 tokens=50000 turns=20 time=30m，或 限额 off",
    "位置 – 智能体在哪里工作；位置 2：以后用第二个",
    "状态 – 这里正在进行的工作",
    "列表 – 你最近的任务",
    "对比 – 多个智能体处理同一任务的进展，以及对比页面",
    "取消 – 结束一条消息或一次运行；取消 2：第二个",
    "批准、拒绝 – 决定智能体的请求；批准 2：第二个",
    "绑定、解绑 – 把此账号与你关联，或解除",
    "帮助 – 本说明"
  ].join("\n")
)

export const unknownCommand = words(
  'I don\'t know this command. Say "help" for the list. To send it to the agent, begin with /run.',
  "没有这个命令。发送“帮助”查看列表。如要发给智能体，请以 /run 开头。"
)
export const attachmentsLeft = words(
  "I can't pass on attachments yet. The agent gets your text only.",
  "目前还不能转交附件，智能体只会收到你的文字。"
)

export const onlyText = words(
  "I can only read text so far. Describe it in words.",
  "目前我只能阅读文字。请用文字告诉我要做什么。"
)

export const noLocations = words(
  "There is no machine that you can use. Add a machine at the Hub, and a project with a workspace on it.",
  "没有你可以使用的机器。请在 Hub 添加机器，以及其工作区所属的项目。"
)
export const whereTitle = words("Where should the agent work?", "智能体在哪里工作？")
export const locationsTitle = words("Available locations", "可用的位置")
export const useHint = words('Choose here, or say "use 2".', "在此选择，或发送“位置 2”。")
export const numberedLocation = (at: number, name: string, isOnline: boolean): LocalizedText =>
  isOnline
    ? words(`${at}. ${name}`, `${at}. ${name}`)
    : words(`${at}. ${name} (offline)`, `${at}. ${name}（离线）`)
export const locationSet = (place: string): LocalizedText =>
  words(`From now on here: ${place}`, `以后在这里：${place}`)
export const noSuchLocation = words("There is no location with this number.", "没有这个编号的位置。")
export const noAgent = words("No agent is ready at this location.", "该位置没有可用的智能体。")
export const agentsAre = (names: string, present: string): LocalizedText =>
  words(
    `Agents at this location: ${names}. Current: ${present}.`,
    `可用的智能体：${names}。当前：${present}。`
  )
export const noSuchAgent = (names: string): LocalizedText =>
  words(
    `There is no such agent. Agents at this location: ${names}.`,
    `没有这个智能体。可用的智能体：${names}。`
  )
export const limitsAre = (agent: string, limits: string): LocalizedText =>
  limits === "off"
    ? words(`${agent} has no limits here.`, `${agent} 在这里没有限额。`)
    : words(`Limits of each turn of ${agent}: ${limits}`, `${agent} 每一轮的限额：${limits}`)
export const limitsLater = words(
  "There is no session here yet. Send the first message, then set limits.",
  "这里还没有会话。请先发送第一条消息，再设置限额。"
)
export const wrongLimits = words(
  "Limits are tokens=50000, turns=20, cost=2.50 (US dollars), time=30m and timeout=30m, each once, or off.",
  "限额的写法：tokens=50000、turns=20、cost=2.50（美元）、time=30m、timeout=30m，每项最多一次；或 off。"
)
export const limitsRefused = (reason: string): LocalizedText =>
  words(`The limits were not changed: ${reason}`, `限额没有更改：${reason}`)
export const agentIs = (name: string): LocalizedText =>
  words(`Messages here now go to ${name}.`, `这里的消息以后发给 ${name}。`)

export const noInput = words(
  "The agent takes no messages while it works. Send it without the ! to wait for its turn.",
  "智能体工作时不接收消息。去掉开头的“！”再发送，会在轮到时处理。"
)
export const tooWideMode = words(
  "This run began outside of chats with wider permissions, so it takes no messages from a chat.",
  "这次运行在聊天之外以更大的权限启动，不接收来自聊天的消息。"
)
export const foreignSession = (direct: boolean): LocalizedText =>
  direct
    ? words(
        'You no longer have access to the session of this chat. Say "new" to start another one.',
        "你已无权使用此聊天的会话。发送“新会话”开始另一个。"
      )
    : words(
        "You don't have access to the session of this thread. Mention me outside of the thread to start another one.",
        "你无权使用此话题的会话。请在话题之外 @ 我，开始另一个会话。"
      )
export const sessionEnded = words(
  'This session is archived or closed. Say "new" to start another one.',
  "此会话已归档或关闭。发送“新会话”开始另一个。"
)
export const newSession = words(
  "The next message here starts a new session.",
  "这里的下一条消息会开始新会话。"
)
export const offlineTitle = words("The machine is offline", "机器离线")
export const offlineLine = words(
  "Your message is not sent yet. Should it wait until the machine is back, for up to a day?",
  "消息尚未发送。要等机器恢复后再发送吗？最多等待一天。"
)
export const sendWhenOnline = words("Send when it's back", "恢复后发送")
export const doNotSend = words("Don't send", "不发送")
export const queued = words("It is sent when the machine is back.", "机器恢复后会发送。")
export const discarded = words("The message is not sent.", "消息不会发送。")
export const tooManyPending = words(
  "Ten messages already wait for your choice. Choose first, then send this one again.",
  "已有十条消息在等你选择。请先选择，再重新发送这条。"
)

export const answerOfferTitle = words("Is this your answer?", "这是你的回答吗？")
export const answerOfferLine = words(
  "The agent waits for an answer to its question. Your message is not sent yet.",
  "智能体正在等待你回答问题。这条消息尚未发送。"
)
export const answerWithText = words("Answer with this text", "作为回答")
export const sendAsMessage = words("Send as a message", "作为消息发送")
export const sentAsAnswer = words("It was sent as the answer.", "已作为回答发送。")
export const sentAsMessage = words("It was sent as a message.", "已作为消息发送。")
export const notIdle = words(
  "The agent is still in its turn, or the run has ended.",
  "智能体仍在处理中，或者运行已经结束。"
)

export const changesNeedLook = words(
  "These changes need a look: they are others now, or the workspace has changed at the same place. Open them in Corral.",
  "这些更改需要查看：它们已有变化，或工作区的同一位置已被修改。请在 Corral 中打开。"
)
export const nothingToCompare = words(
  "No task here was given to several agents. Start one in Corral.",
  "这里没有交给多个智能体的任务。可在 Corral 中发起。"
)
export const compareTitle = (agents: number): LocalizedText =>
  words(`${agents} agents on one task`, `${agents} 个智能体处理同一任务`)
export const comparePage = words("Compare in Corral", "在 Corral 中对比")
export const candidateStates = (done: number, all: number): LocalizedText =>
  words(`${done} of ${all} done`, `已完成 ${done} / ${all}`)
export const checksPassed = (passed: number, checked: number): LocalizedText =>
  words(`Checks pass for ${passed} of ${checked}`, `${passed} / ${checked} 个通过检查`)
export const filesToDecide = (files: number): LocalizedText =>
  words(
    files === 1 ? "1 changed file to decide" : `${files} changed files to decide`,
    `${files} 个文件的更改待决定`
  )

export const nothingHere = words("Nothing is in progress here.", "这里没有正在进行的工作。")
export const noTasks = words("You have no tasks yet.", "你还没有任务。")
export const cancelled = words("Stopping.", "正在停止。")
export const continued = words("The held messages are sent now.", "暂缓的消息已开始发送。")
export const nothingHeld = words("No messages are held here.", "这里没有暂缓的消息。")
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

export const textTooLong = words(
  `Your message is too long: an agent takes up to ${MAX_MESSAGE_TEXT.toLocaleString("en")} characters. It was not sent. Put long content into a file of the workspace and name it here.`,
  `消息太长：最多 ${MAX_MESSAGE_TEXT.toLocaleString("en")} 个字符，因此没有发送。请把较长的内容放到工作区的文件里，再在这里说明文件名。`
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
  approval_expired: words("This approval has expired.", "决定的时间已过。"),
  approval_already_resolved: words("Someone has already decided this.", "已有人做出决定。"),
  input_expired: words("This question has expired.", "回答的时间已过。"),
  input_already_resolved: words("This question is no longer open.", "这个问题已不再等待回答。"),
  run_not_cancellable: words("This has already ended.", "这已经结束。"),
  payload_too_large: words("The text is too long for one message.", "内容过长。")
}

export const refusalText = (refused: {
  readonly code: ErrorCode
  /** Shown for a code without a text. */
  readonly message?: string
  readonly details?: Readonly<Record<string, unknown>>
}): LocalizedText => {
  const { code, message = "" } = refused
  const remedy = runtimeRemedyOf(refused)
  return remedy === undefined ? (refusals[code] ?? words(message, message)) : runtimeCauses[remedy]
}

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
