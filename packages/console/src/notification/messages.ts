/** UI text of notifications. */
import { bilingual } from "../text/Language.tsx"

export const notificationMessages = bilingual(
  {
    title: "Notifications",
    enable: "Turn on notifications",
    disable: "Turn off notifications",
    states: {
      on: "This browser notifies you of approvals, questions, changes, finished turns and used limits while the console is hidden.",
      off: "Get a notification of approvals, questions, changes, finished turns and used limits while the console is hidden.",
      blocked: "This browser blocks notifications. Allow them in the browser's settings for this site.",
      unsupported: "This browser does not support notifications."
    },
    filesToDecide: (n: number) =>
      n === 1 ? "1 file to decide" : `${n.toLocaleString("en")} files to decide`,
    titles: {
      approval: (title: string) => `Needs you: ${title}`,
      input: (title: string) => `Question: ${title}`,
      changes: (title: string) => `Changes to decide: ${title}`,
      completed: (title: string) => `Done: ${title}`,
      failed: (title: string) => `Failed: ${title}`,
      near: (title: string) => `80 % of a limit is used: ${title}`,
      reached: (title: string) => `A limit is used up: ${title}`
    },
    limits: {
      own: "Your limit for today.",
      everyone: "The limit for everyone together, today.",
      of: (name: string) => `The limit of ${name} for today.`
    }
  },
  {
    title: "通知",
    enable: "开启通知",
    disable: "关闭通知",
    states: {
      on: "控制台不可见时，此浏览器会通知您审批、提问、待决定的更改、已结束的任务和限额用量。",
      off: "控制台不可见时，通过通知了解审批、提问、待决定的更改、已结束的任务和限额用量。",
      blocked: "此浏览器已阻止通知。请在浏览器的网站设置中允许通知。",
      unsupported: "此浏览器不支持通知。"
    },
    filesToDecide: (n: number) => `${n.toLocaleString("en")} 个文件待决定`,
    titles: {
      approval: (title: string) => `等您处理：${title}`,
      input: (title: string) => `向您提问：${title}`,
      changes: (title: string) => `更改待决定：${title}`,
      completed: (title: string) => `已完成：${title}`,
      failed: (title: string) => `失败：${title}`,
      near: (title: string) => `限额已用 80%：${title}`,
      reached: (title: string) => `限额已用完：${title}`
    },
    limits: {
      own: "您今天的限额。",
      everyone: "全部成员今天合计的限额。",
      of: (name: string) => `${name} 今天的限额。`
    }
  }
)
