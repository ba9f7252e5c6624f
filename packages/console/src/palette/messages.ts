/** UI text of the palette. */
import { bilingual } from "../text/Language.tsx"

export const paletteMessages = bilingual(
  {
    title: "Search and commands",
    placeholder: "Search sessions, threads, files and commands…",
    results: "Results",
    close: "Close",
    searching: "Searching…",
    failed: "The search failed. Commands still work.",
    again: "Try again",
    hint: "↑ ↓ choose · Enter opens · Esc closes",
    nothing: (query: string) => `Nothing found for “${query}”.`,
    found: (n: number) => (n === 1 ? "1 result" : `${n} results`),
    filesToDecide: (n: number) =>
      n === 1 ? "1 file to decide" : `${n.toLocaleString("en")} files to decide`,
    changesOf: (workspace: string) => `Changes in ${workspace}`,
    kinds: {
      changes: "Changes to decide",
      recent: "Recent sessions",
      sessions: "Sessions",
      threads: "In threads",
      files: "Changed files",
      runs: "Runs",
      projects: "Projects",
      devices: "Devices",
      commands: "Commands"
    },
    commands: {
      newSession: "New session",
      home: "Go to Home",
      board: "Open the board",
      runs: "List all runs",
      approvals: "Open approvals",
      devices: "Open devices",
      projects: "Open projects",
      usage: "Open usage and limits",
      audit: "Open the audit log",
      account: "Open my account and settings",
      systemTheme: "Use the system theme",
      lightTheme: "Use the light theme",
      darkTheme: "Use the dark theme",
      english: "Switch to English",
      chinese: "切换到中文",
      notificationsOn: "Turn on notifications",
      notificationsOff: "Turn off notifications",
      keys: "Show keyboard shortcuts",
      signOut: "Sign out"
    }
  },
  {
    title: "搜索与命令",
    placeholder: "搜索会话、对话内容、文件和命令…",
    results: "结果",
    close: "关闭",
    searching: "正在搜索…",
    failed: "搜索失败，命令仍可使用。",
    again: "重试",
    hint: "↑ ↓ 选择 · Enter 打开 · Esc 关闭",
    nothing: (query: string) => `没有找到“${query}”。`,
    found: (n: number) => `${n} 个结果`,
    filesToDecide: (n: number) => `${n.toLocaleString("en")} 个文件待决定`,
    changesOf: (workspace: string) => `${workspace} 中的更改`,
    kinds: {
      changes: "待决定的更改",
      recent: "最近的会话",
      sessions: "会话",
      threads: "对话内容",
      files: "更改的文件",
      runs: "运行",
      projects: "项目",
      devices: "设备",
      commands: "命令"
    },
    commands: {
      newSession: "新会话",
      home: "前往首页",
      board: "打开看板",
      runs: "列出所有运行",
      approvals: "打开审批",
      devices: "打开设备",
      projects: "打开项目",
      usage: "打开用量与限额",
      audit: "打开审计日志",
      account: "打开我的账号与设置",
      systemTheme: "主题跟随系统",
      lightTheme: "使用浅色主题",
      darkTheme: "使用深色主题",
      english: "Switch to English",
      chinese: "切换到中文",
      notificationsOn: "开启通知",
      notificationsOff: "关闭通知",
      keys: "显示键盘快捷键",
      signOut: "退出登录"
    }
  }
)
