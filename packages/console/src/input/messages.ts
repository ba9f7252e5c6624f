/** UI text of questions, forms, plans and links. */
import { bilingual } from "../text/Language.tsx"
import type { AnswerProblem } from "./FormDraft.ts"

interface Bounds {
  readonly min?: number
  readonly max?: number
}

const rangeEn = ({ max, min }: Bounds): string =>
  min === undefined ? `up to ${max}` : max === undefined ? `from ${min}` : `from ${min} to ${max}`
const rangeZh = ({ max, min }: Bounds): string =>
  min === undefined ? `不超过 ${max}` : max === undefined ? `不小于 ${min}` : `在 ${min} 到 ${max} 之间`

type Problems = Readonly<Record<Exclude<AnswerProblem, "range" | "length">, string>> & {
  readonly range: (bounds: Bounds) => string
  readonly length: (bounds: Bounds) => string
}

const problems = bilingual<Problems>(
  {
    missing: "Answer this question.",
    other: "Write your own answer.",
    number: "Enter a number.",
    integer: "Enter a whole number.",
    range: (bounds) => `Enter a number ${rangeEn(bounds)}.`,
    length: (bounds) => `Number of characters: ${rangeEn(bounds)}.`
  },
  {
    missing: "请回答此问题。",
    other: "请写下您的回答。",
    number: "请输入数字。",
    integer: "请输入整数。",
    range: (bounds) => `数值应${rangeZh(bounds)}。`,
    length: (bounds) => `字符数应${rangeZh(bounds)}。`
  }
)

export const inputMessages = bilingual(
  {
    kinds: { question: "Question", plan: "Plan", link: "Link" },
    position: (at: number, of: number) => `${at} of ${of}`,
    parts: (n: number) => `${n} questions`,
    chooseSome: "Choose any number",
    optional: "optional",
    yes: "Yes",
    no: "No",
    other: "Something else",
    otherField: (question: string) => `Your own answer: ${question}`,
    secretHint: "Encrypted in this browser for the device. The Hub can't read it.",
    noKey: "This device can't receive secrets. Answer in a terminal on the device.",
    answer: "Answer",
    skip: "Skip",
    sending: "Sending…",
    keysHint: "1–9 choose · Enter answers",
    endsAt: "Ends",
    endsHint: "If no answer is given by then, the agent continues without one.",
    waitsUpTo: "waits up to 24 h",
    runEnds: "The run ends 24 hours after its start, also while it waits.",
    notYours: "Viewers of this project can't answer. Ask a project admin for another role.",
    notYourPlan: "Your role in this project can't approve this plan.",
    offline: (name: string) => `${name} is disconnected. Your answer can be sent after it reconnects.`,
    problems: problems.en,
    approve: "Approve plan",
    endsRun: "This run only plans. The work follows in a new run.",
    thenMode: "Carry out in mode",
    sendBack: "Send back",
    sendBackWith: (n: number) => (n === 1 ? "Send back with 1 comment" : `Send back with ${n} comments`),
    overall: "Comment on the whole plan (optional)",
    commentOn: (line: number) => `Comment on line ${line}`,
    comment: "Comment",
    planHint: "Select a line to comment on it.",
    addComment: "Add comment",
    saveComment: "Save comment",
    cancel: "Cancel",
    edit: "Edit",
    remove: "Remove",
    notSent: "not sent yet",
    linkHint: "The agent asks you to open this address. Corral does not open it. Check the host first.",
    open: "Open in a new tab",
    host: (name: string) => `Host: ${name}`,
    unsafeLink: "This address is not a web page. Copy it to use it.",
    copy: "Copy address",
    linkDone: "I'm done",
    withThisText: "Answer with this text",
    withThisTextHint: (question: string) => `Sends the text as the answer to: ${question}`,
    by: "by",
    states: {
      answered: "Answered",
      declined: "Skipped",
      expired: "Expired",
      withdrawn: "Withdrawn",
      self_answered: "Not answered",
      cancelled: "Not answered"
    },
    after: {
      expired: "no answer in time; the agent continued without one",
      withdrawn: "the agent no longer needs an answer",
      self_answered: "the agent continued without an answer",
      cancelled: "the run ended first"
    },
    planApproved: "Approved",
    planSentBack: "Sent back",
    planDeclined: "Not decided",
    continuesIn: (mode: string) => `carried out in mode: ${mode}`,
    hidden: "hidden",
    none: "no answer",
    hidePlan: "Hide plan",
    showPlan: "Show plan",
    already: "This question was answered elsewhere first.",
    tooLate: "This question has expired. Your answer was not sent.",
    unknownOutcome:
      "Lost connection to the device. Your answer may have arrived; the run shows the result. It is safe to send it again.",
    offlineRefusal: "The device is disconnected. Your answer was not sent. Try again after it reconnects.",
    outdated: "The Corral version on this device can't receive answers. Update Corral on the device.",
    answeredElsewhere: (title: string) => `${title}:`,
    dismiss: "Dismiss",
    questions: "Questions and plans",
    toAnswer: "Answer…",
    toPlan: "Read plan…"
  },
  {
    kinds: { question: "问题", plan: "计划", link: "链接" },
    position: (at: number, of: number) => `第 ${at} 项，共 ${of} 项`,
    parts: (n: number) => `${n} 个问题`,
    chooseSome: "可多选",
    optional: "选填",
    yes: "是",
    no: "否",
    other: "其他",
    otherField: (question: string) => `您的回答：${question}`,
    secretHint: "内容在此浏览器中为设备加密，Hub 无法读取。",
    noKey: "此设备无法接收机密内容，请在该设备的终端中回答。",
    answer: "回答",
    skip: "跳过",
    sending: "发送中…",
    keysHint: "数字键选择 · Enter 回答",
    endsAt: "截止",
    endsHint: "到期仍无回答时，智能体会在没有回答的情况下继续。",
    waitsUpTo: "最多等待 24 小时",
    runEnds: "即使在等待回答，运行也会在开始 24 小时后结束。",
    notYours: "您在此项目中只能查看，不能回答。请联系项目管理员调整角色。",
    notYourPlan: "您在此项目中的角色不能批准此计划。",
    offline: (name: string) => `${name} 未连接。重新连接后即可发送回答。`,
    problems: problems.zh,
    approve: "批准计划",
    endsRun: "本次运行只做计划，执行会在新的运行中进行。",
    thenMode: "执行模式",
    sendBack: "退回",
    sendBackWith: (n: number) => `退回并附上 ${n} 条评论`,
    overall: "对整个计划的评论（选填）",
    commentOn: (line: number) => `评论第 ${line} 行`,
    comment: "评论",
    planHint: "点选某一行即可评论。",
    addComment: "添加评论",
    saveComment: "保存评论",
    cancel: "取消",
    edit: "编辑",
    remove: "删除",
    notSent: "尚未发送",
    linkHint: "智能体请您打开此地址。Corral 不会自动打开，请先核对域名。",
    open: "在新标签页打开",
    host: (name: string) => `域名：${name}`,
    unsafeLink: "此地址不是网页，请复制后使用。",
    copy: "复制地址",
    linkDone: "已完成",
    withThisText: "用这段文字回答",
    withThisTextHint: (question: string) => `将这段文字作为回答发送：${question}`,
    by: "·",
    states: {
      answered: "已回答",
      declined: "已跳过",
      expired: "已过期",
      withdrawn: "已撤回",
      self_answered: "未回答",
      cancelled: "未回答"
    },
    after: {
      expired: "到期仍无回答，智能体在没有回答的情况下继续了",
      withdrawn: "智能体已不需要回答",
      self_answered: "智能体在没有回答的情况下继续了",
      cancelled: "运行先结束了"
    },
    planApproved: "已批准",
    planSentBack: "已退回",
    planDeclined: "未决定",
    continuesIn: (mode: string) => `执行模式：${mode}`,
    hidden: "已隐藏",
    none: "未回答",
    hidePlan: "收起计划",
    showPlan: "查看计划",
    already: "此问题已在其他地方先得到回答。",
    tooLate: "此问题已过期，您的回答未发送。",
    unknownOutcome: "与设备的连接已断开。您的回答可能已送达，结果会显示在运行中。可以放心重新发送。",
    offlineRefusal: "设备未连接，回答未发送。请在设备重新连接后重试。",
    outdated: "此设备上的 Corral 版本无法接收回答，请先在设备上更新。",
    answeredElsewhere: (title: string) => `${title}：`,
    dismiss: "关闭",
    questions: "问题与计划",
    toAnswer: "回答…",
    toPlan: "查看计划…"
  }
)
