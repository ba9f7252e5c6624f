/**
 * Texts of audit sentences in both languages, one phrase for each audited action: plain text, and mentions of people and things, whose names
 * were written by others. Pure.
 */
import type { AuditOutcome } from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { Decision, DecisionScope } from "@corral/domain/approval/Approval"
import { bilingual } from "../text/Language.tsx"

/** Name of a person or a thing. A page isolates and emphasizes it. */
export interface NameMention {
  readonly name: string
  /** Whether it is what a person wrote, such as a reason. A quote is not emphasized. */
  readonly isQuote?: true
}

/** Sentence of parts: plain text, and mentions of people and things, whose names were written by others. Pure. */
export type Sentence = ReadonlyArray<string | NameMention>

/** Template of a sentence. Parts are mentions, other sentences or text. */
export const sentence = (
  texts: TemplateStringsArray,
  ...parts: ReadonlyArray<Sentence | NameMention | string>
): Sentence =>
  texts
    .flatMap((text, at) => {
      const part = parts[at]
      return [text, ...(part === undefined ? [] : isSentence(part) ? part : [part])]
    })
    .filter((part) => part !== "")

const isSentence = (part: Sentence | NameMention | string): part is Sentence => Array.isArray(part)

/** The sentence as plain text. */
export const sentenceText = (parts: Sentence): string =>
  parts.map((part) => (typeof part === "string" ? part : part.name)).join("")

/** What an action was for, with the names that the reader can see. */
export interface AuditSubject {
  /** Prefix of the resource's id, such as `dev_`. */
  readonly kind: string
  readonly resource: NameMention | undefined
  readonly project: NameMention | undefined
  readonly agent: NameMention | undefined
}

type SubjectText = (subject: AuditSubject) => Sentence

/** What an actor did, what they tried to do, and to what; or a whole sentence, for events without an actor. */
export type AuditPhrase = readonly [did: string, attempt: string, object?: SubjectText] | SubjectText

export interface AuditTexts {
  readonly you: string
  readonly someone: string
  readonly aDevice: string
  readonly device: (name: NameMention) => Sentence
  readonly system: string
  readonly gateway: string
  readonly did: (actor: Sentence, verb: string, object: Sentence) => Sentence
  readonly tried: (actor: Sentence, verb: string, object: Sentence) => Sentence
  readonly outcomes: Readonly<Record<Exclude<AuditOutcome, "allowed">, string>>
  readonly colon: string
  readonly edited: string
  readonly scopes: Readonly<Record<DecisionScope, string>>
  /** Reasons by error code. The details have the code of other errors. */
  readonly codes: Readonly<Partial<Record<string, string>>>
  readonly decisions: Readonly<Record<Decision, AuditPhrase>>
  readonly actions: Readonly<Record<AuditAction, AuditPhrase>>
}

const inProject = ({ project }: AuditSubject): Sentence =>
  project === undefined ? [] : sentence` in ${project}`
const zhInProject = ({ project }: AuditSubject): Sentence =>
  project === undefined ? [] : sentence`项目 ${project} 中的`

/** `the device studio`, or `a device` if its name is unknown. */
const the =
  (word: string, unknown: string): SubjectText =>
  ({ resource }) =>
    resource === undefined ? sentence`${unknown}` : sentence`the ${word} ${resource}`
const zhThe =
  (word: string): SubjectText =>
  ({ resource }) =>
    resource === undefined ? sentence`${word}` : sentence`${word} ${resource}`

const theProject: SubjectText = ({ project, resource }) => {
  const name = project ?? resource
  return name === undefined ? sentence`a project` : sentence`the project ${name}`
}
const zhTheProject: SubjectText = ({ project, resource }) => {
  const name = project ?? resource
  return name === undefined ? sentence`项目` : sentence`项目 ${name}`
}

const theChanges: SubjectText = (subject) => sentence`changes of a run${inProject(subject)}`
const zhChanges: SubjectText = (subject) => sentence`${zhInProject(subject)}运行更改`

const theRest: SubjectText = (subject) => sentence`undecided changes of a closed agent${inProject(subject)}`
const zhRest: SubjectText = (subject) => sentence`${zhInProject(subject)}已关闭智能体的未决定更改`
const theChoice: SubjectText = (subject) => sentence`one of several agents${inProject(subject)}`
const zhChoice: SubjectText = (subject) => sentence`${zhInProject(subject)}多个智能体中的一个`

/** Chinese text has a space next to a name only. */
const zhGap = (part: Sentence[number] | undefined): string =>
  part === undefined || typeof part === "string" ? "" : " "
const zhJoin = (actor: Sentence, verb: string, object: Sentence): Sentence =>
  sentence`${actor}${zhGap(actor.at(-1))}${verb}${zhGap(object[0])}${object}`

const en: AuditTexts = {
  you: "You",
  someone: "A user",
  aDevice: "A device",
  device: (name) => sentence`Device ${name}`,
  system: "The Hub",
  gateway: "The chat gateway",
  did: (actor, verb, object) => sentence`${actor} ${verb}${object.length > 0 ? " " : ""}${object}`,
  tried: (actor, verb, object) =>
    sentence`${actor} tried to ${verb}${object.length > 0 ? " " : ""}${object}. `,
  outcomes: { denied: "Refused", failed: "Failed" },
  colon: ": ",
  edited: " with changes",
  scopes: { once: "", run: " for the run", session: " for the session", always: " always" },
  codes: {
    permission_denied: "no permission",
    unauthorized: "the sign-in or key is not valid",
    unauthorized_target: "the device is not shared with them",
    workspace_outside_allowlist: "the folder is not allowed on the device",
    binding_required: "the chat account is not linked",
    target_offline: "the device was offline",
    runtime_unavailable: "the agent's program was not available",
    conflict: "the state had changed, or the entry exists already",
    run_not_cancellable: "the run had ended",
    approval_already_resolved: "it was already decided",
    approval_expired: "it had expired",
    rate_limited: "too many requests",
    overloaded: "the service was busy"
  },
  decisions: {
    allow: ["allowed", "allow", ({ resource }) => sentence`${resource ?? "an action"}`],
    deny: ["denied", "deny", ({ resource }) => sentence`${resource ?? "an action"}`],
    cancel: [
      "cancelled the run at",
      "cancel the run at",
      ({ resource }) => sentence`${resource ?? "an action"}`
    ]
  },
  actions: {
    "project.create": ["created", "create", theProject],
    "project.read": ["opened", "open", theProject],
    "project.update": [
      "changed",
      "change",
      (subject) =>
        subject.kind === "dev_"
          ? sentence`the workspaces of ${subject.resource ?? "a device"}${inProject(subject)}`
          : theProject(subject)
    ],
    "project.delete": ["deleted", "delete", theProject],
    "member.manage": [
      "changed",
      "change",
      (subject) =>
        subject.kind === "usr_"
          ? sentence`the membership of ${subject.resource ?? "a user"}${inProject(subject)}`
          : sentence`the members of ${subject.project ?? "a project"}`
    ],
    "policy.manage": ["changed", "change", (subject) => sentence`the policies of ${theProject(subject)}`],
    "limit.set": ["set", "set", (subject) => sentence`a limit of ${theProject(subject)}`],
    "limit.remove": ["removed", "remove", (subject) => sentence`a limit of ${theProject(subject)}`],
    "audit.read": ["read", "read", (subject) => sentence`the audit log of ${theProject(subject)}`],
    "session.write": [
      "worked in",
      "work in",
      (subject) =>
        subject.kind === "ses_" && subject.resource !== undefined
          ? sentence`the session ${subject.resource}`
          : sentence`a session${inProject(subject)}`
    ],
    "task.create": [
      "started",
      "start",
      (subject) =>
        subject.agent === undefined
          ? sentence`a run${inProject(subject)}`
          : sentence`a run of ${subject.agent}${inProject(subject)}`
    ],
    "task.route": ["sent", "send", (subject) => sentence`work to ${the("device", "a device")(subject)}`],
    "run.cancel": ["cancelled", "cancel", the("run", "a run")],
    "run.pause": ["paused", "pause", the("run", "a run")],
    "run.resume": ["resumed", "resume", the("run", "a run")],
    "run.finish": ["finished", "finish", the("run", "a run")],
    "input.answer": ["answered", "answer", the("question", "a question")],
    "run.input": ["sent", "send", (subject) => sentence`a message to ${the("run", "a run")(subject)}`],
    "run.push": [
      "sent",
      "send",
      (subject) => sentence`events of a run that is not its own${inProject(subject)}`
    ],
    "approval.decide": ["decided", "decide", ({ resource }) => sentence`${resource ?? "an approval"}`],
    "changes.accept": ["accepted", "accept", theChanges],
    "changes.reject": ["rejected", "reject", theChanges],
    "changes.undo": ["undid", "undo", theChanges],
    "changes.remove": ["removed", "remove", theRest],
    "group.continue": ["chose", "choose", theChoice],
    "device.join": ["created", "create", () => sentence`a join token for a device`],
    "device.register": ["registered", "register", the("device", "a device")],
    "device.manage": ["changed", "change", the("device", "a device")],
    "device.revoke": ["revoked", "revoke", the("device", "a device")],
    "device.connect": ["connected", "connect"],
    "device.rotate": ["replaced its key", "replace its key"],
    "device.presets": [
      "changed",
      "change",
      ({ resource }) => sentence`the profiles of ${resource ?? "a device"}`
    ],
    "device.flapping": ({ resource }) => sentence`Two machines use the key of ${resource ?? "one device"}`,
    "sign_in.issue": ["signed in", "sign in"],
    "sign_in.refresh": ["renewed a sign-in", "renew a sign-in"],
    "sign_in.revoke": ["signed out", "sign out"],
    "sign_in.refuse": () => sentence`A sign-in was refused`,
    "sign_in.approve": ["signed in a program by its code", "sign in a program by its code"],
    "sign_in.deny": ["denied the sign-in of a program", "deny the sign-in of a program"],
    "api_key.create": ["created an API key", "create an API key"],
    "api_key.remove": ["revoked an API key", "revoke an API key"],
    "chat.start": ["requested a link to a chat account", "request a link to a chat account"],
    "chat.confirm": ["confirmed the link to a chat account", "confirm the link to a chat account"],
    "chat.refuse": ["rejected the link to a chat account", "reject the link to a chat account"],
    "chat.bind": ["linked a chat account", "link a chat account"],
    "chat.unbind": ["unlinked a chat account", "unlink a chat account"]
  }
}

const zh: AuditTexts = {
  you: "您",
  someone: "某位用户",
  aDevice: "某台设备",
  device: (name) => sentence`设备 ${name}`,
  system: "Hub ",
  gateway: "聊天网关",
  did: zhJoin,
  tried: (actor, verb, object) => sentence`${zhJoin(actor, `尝试${verb}`, object)}，`,
  outcomes: { denied: "被拒绝", failed: "未成功" },
  colon: "：",
  edited: "，内容有改动",
  scopes: { once: "", run: "，本次运行内有效", session: "，本会话内有效", always: "，始终有效" },
  codes: {
    permission_denied: "没有权限",
    unauthorized: "登录或密钥无效",
    unauthorized_target: "设备未共享给对方",
    workspace_outside_allowlist: "设备未允许该文件夹",
    binding_required: "聊天账号未关联",
    target_offline: "设备离线",
    runtime_unavailable: "智能体程序不可用",
    conflict: "状态已变化，或该条目已存在",
    run_not_cancellable: "运行已结束",
    approval_already_resolved: "已有人处理",
    approval_expired: "已过期",
    rate_limited: "请求过多",
    overloaded: "服务繁忙"
  },
  decisions: {
    allow: ["允许了", "允许", ({ resource }) => sentence`${resource ?? "一项操作"}`],
    deny: ["拒绝了", "拒绝", ({ resource }) => sentence`${resource ?? "一项操作"}`],
    cancel: [
      "取消了运行，待审批的操作为",
      "取消运行，待审批的操作为",
      ({ resource }) => sentence`${resource ?? "一项操作"}`
    ]
  },
  actions: {
    "project.create": ["创建了", "创建", zhTheProject],
    "project.read": ["打开了", "打开", zhTheProject],
    "project.update": [
      "更改了",
      "更改",
      (subject) =>
        subject.kind === "dev_"
          ? sentence`${zhInProject(subject)}${zhThe("设备")(subject)}${subject.resource === undefined ? "" : " "}的工作区`
          : zhTheProject(subject)
    ],
    "project.delete": ["删除了", "删除", zhTheProject],
    "member.manage": [
      "更改了",
      "更改",
      (subject) =>
        subject.kind === "usr_"
          ? sentence`${zhInProject(subject)}${zhThe("成员")(subject)}`
          : sentence`${zhInProject(subject)}成员`
    ],
    "policy.manage": ["更改了", "更改", (subject) => sentence`${zhTheProject(subject)}的策略`],
    "limit.set": ["设置了", "设置", (subject) => sentence`${zhTheProject(subject)}的限额`],
    "limit.remove": ["移除了", "移除", (subject) => sentence`${zhTheProject(subject)}的限额`],
    "audit.read": ["查看了", "查看", (subject) => sentence`${zhTheProject(subject)}的审计日志`],
    "session.write": [
      "写入了",
      "写入",
      (subject) =>
        subject.kind === "ses_" && subject.resource !== undefined
          ? sentence`会话 ${subject.resource}`
          : sentence`${zhInProject(subject)}会话`
    ],
    "task.create": [
      "启动了",
      "启动",
      (subject) =>
        subject.agent === undefined
          ? sentence`${zhInProject(subject)}一次运行`
          : sentence`${zhInProject(subject)}一次 ${subject.agent} 运行`
    ],
    "task.route": ["派发了任务到", "派发任务到", zhThe("设备")],
    "run.cancel": ["取消了", "取消", zhThe("运行")],
    "run.pause": ["暂停了", "暂停", zhThe("运行")],
    "run.resume": ["继续了", "继续", zhThe("运行")],
    "run.finish": ["结束了", "结束", zhThe("运行")],
    "input.answer": ["回答了", "回答", zhThe("问题")],
    "run.input": ["发送了消息到", "发送消息到", zhThe("运行")],
    "run.push": ["推送了", "推送", (subject) => sentence`${zhInProject(subject)}不属于自己的运行事件`],
    "approval.decide": ["处理了", "处理", ({ resource }) => sentence`${resource ?? "一项审批"}`],
    "changes.accept": ["接受了", "接受", zhChanges],
    "changes.reject": ["拒绝了", "拒绝", zhChanges],
    "changes.undo": ["撤销了", "撤销", zhChanges],
    "changes.remove": ["移除了", "移除", zhRest],
    "group.continue": ["选用了", "选用", zhChoice],
    "device.join": ["创建了设备加入令牌", "创建设备加入令牌"],
    "device.register": ["注册了", "注册", zhThe("设备")],
    "device.manage": ["更改了", "更改", zhThe("设备")],
    "device.revoke": ["吊销了", "吊销", zhThe("设备")],
    "device.connect": ["已连接", "连接"],
    "device.rotate": ["更换了密钥", "更换密钥"],
    "device.presets": ["更改了", "更改", ({ resource }) => sentence`${resource ?? "设备"}的智能体配置`],
    "device.flapping": ({ resource }) =>
      resource === undefined
        ? sentence`两台机器使用了同一设备的密钥`
        : sentence`两台机器使用了设备 ${resource} 的密钥`,
    "sign_in.issue": ["登录了", "登录"],
    "sign_in.refresh": ["刷新了登录", "刷新登录"],
    "sign_in.revoke": ["退出了登录", "退出登录"],
    "sign_in.refuse": () => sentence`一次登录被拒绝`,
    "sign_in.approve": ["用设备码批准了一个程序登录", "用设备码批准一个程序登录"],
    "sign_in.deny": ["拒绝了一个程序登录", "拒绝一个程序登录"],
    "api_key.create": ["创建了 API 密钥", "创建 API 密钥"],
    "api_key.remove": ["吊销了 API 密钥", "吊销 API 密钥"],
    "chat.start": ["请求了关联聊天账号", "请求关联聊天账号"],
    "chat.confirm": ["确认了关联聊天账号", "确认关联聊天账号"],
    "chat.refuse": ["拒绝了关联聊天账号", "拒绝关联聊天账号"],
    "chat.bind": ["关联了聊天账号", "关联聊天账号"],
    "chat.unbind": ["取消了聊天账号的关联", "取消聊天账号的关联"]
  }
}

export const auditTexts = bilingual(en, zh)
