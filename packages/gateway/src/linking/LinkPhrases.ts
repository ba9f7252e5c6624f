/** Texts of the Gateway about links between accounts and users, in both languages. */
import type { LocalizedText } from "../platform/ChatPlatform.ts"

const words = (en: string, zh: string): LocalizedText => ({ en, zh })

export const linkTitle = words("Link this account", "关联此账号")
export const linkLines = [
  words(
    "I don't know whose account this is. Open the page, sign in, check that both names are yours, and type the number from the page here.",
    "我不知道这个账号属于谁。请打开页面并登录，确认两边的名字都是你，然后把页面上的数字发到这里。"
  ),
  words("The link works once, for ten minutes. Don't share it.", "十分钟内有效，只能使用一次。请勿转发。")
]
export const firstMessageKept = words(
  "Your first message is kept for a day. The agent gets it when the account is linked.",
  "你的第一条消息会保留一天，关联后会转给智能体。"
)
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
    `This account is already linked to ${name}. To send the number to the agent, begin with /run.`,
    `此账号已关联 ${name}。如要把数字发给智能体，请以 /run 开头。`
  )
export const alreadyLinked = (name: string): LocalizedText =>
  words(
    `This account acts as ${name}. Say "unbind" to unlink it.`,
    `此账号的身份是 ${name}。发送“解绑”可解除。`
  )
export const unlinked = words("This account is no longer linked.", "此账号已不再与任何人关联。")
export const suspended = words(
  "This account no longer acts as you, because you haven't signed in to the Hub for a long time. Sign in there, and it does again.",
  "你已很久没有登录 Hub，此账号暂时不能以你的身份操作。登录 Hub 后即可恢复。"
)
export const wrongNumber = (left: number | undefined): LocalizedText =>
  left === undefined || left === 0
    ? words(
        'This number is no longer valid. Say "bind" for a new page.',
        "这个数字无效。发送“绑定”获取新页面。"
      )
    : words(`Wrong number. ${left} tries left.`, `数字不正确，还可以试 ${left} 次。`)
