/** UI text of devices. */
import { bilingual } from "../text/Language.tsx"

export const deviceMessages = bilingual(
  {
    title: "Devices",
    none: "No devices yet.",
    noneHint: "A device is one of your machines. Agents run on it, next to the code.",
    noneNext: "Choose “Add device” and run the command that it shows on your machine.",
    add: "Add device",
    addText: "Run this command in a terminal on that machine:",
    command: "command",
    makeToken: "Create join token",
    token: "join token",
    tokenText:
      "When the command asks for the token, paste it and press Enter, then Ctrl-D. The token works once and is shown only here.",
    upText: "Then start Corral on that machine:",
    untilText: "expires",
    waits: "Waiting for the device to join…",
    joined: (name: string) => `${name} has joined. Next, share it with a project.`,
    rename: "Rename",
    name: "Name",
    share: "Share",
    shareTitle: (name: string) => `Share ${name} with projects`,
    shareHint:
      "Members of these projects can start runs on this device, in workspaces linked to the project.",
    noProjects: "You don't have any projects yet.",
    save: "Save",
    revoke: "Revoke",
    revokeTitle: (name: string) => `Revoke ${name}?`,
    revokeText: "Its key stops working immediately. To use this machine again, add it as a new device.",
    remove: "Remove",
    removeTitle: (name: string) => `Remove ${name}?`,
    removeText: "The device disappears from all lists.",
    seen: "last seen",
    never: "never seen",
    yours: "your device",
    shared: (names: string, others: number) => {
      if (names === "") return others === 1 ? "shared with 1 project" : `shared with ${others} projects`
      return `shared with ${names}${others === 0 ? "" : ` and ${others} more`}`
    },
    notShared: "not shared with a project: no one can start runs on it",
    ready: (names: string, others: number) => `${names}${others === 0 ? "" : ` and ${others} more`} ready`,
    noneReady: "no agent is ready: install one, or sign in to its program",
    workspaces: (n: number) => (n === 1 ? "1 workspace" : `${n} workspaces`),
    noWorkspaces: "no workspaces",
    close: "Close"
  },
  {
    title: "设备",
    none: "还没有设备。",
    noneHint: "设备是您的一台机器，智能体在这台机器上、代码所在处运行。",
    noneNext: "请点击“添加设备”，并在您的机器上运行所显示的命令。",
    add: "添加设备",
    addText: "在那台机器的终端中运行此命令：",
    command: "命令",
    makeToken: "创建加入令牌",
    token: "加入令牌",
    tokenText: "命令提示输入令牌时，请粘贴并按 Enter，再按 Ctrl-D。令牌只能使用一次，且仅在此处显示。",
    upText: "然后在那台机器上启动 Corral：",
    untilText: "过期时间",
    waits: "正在等待设备加入…",
    joined: (name: string) => `${name} 已加入。下一步，请将它共享给项目。`,
    rename: "重命名",
    name: "名称",
    share: "共享",
    shareTitle: (name: string) => `将 ${name} 共享给项目`,
    shareHint: "这些项目的成员可以在项目关联的工作区中，使用此设备启动运行。",
    noProjects: "您还没有项目。",
    save: "保存",
    revoke: "吊销",
    revokeTitle: (name: string) => `要吊销 ${name} 吗？`,
    revokeText: "它的密钥将立即失效。如需再次使用这台机器，请将它添加为新设备。",
    remove: "移除",
    removeTitle: (name: string) => `要移除 ${name} 吗？`,
    removeText: "该设备将从所有列表中消失。",
    seen: "上次在线",
    never: "从未在线",
    yours: "您的设备",
    shared: (names: string, others: number) => {
      if (names === "") return `已共享给 ${others} 个项目`
      return `已共享给 ${names}${others === 0 ? "" : `和另外 ${others} 个项目`}`
    },
    notShared: "未共享给任何项目，无法在其上启动运行",
    ready: (names: string, others: number) =>
      `${names}${others === 0 ? "" : ` 和另外 ${others} 个智能体`}可用`,
    noneReady: "没有可用的智能体：请安装一个，或登录其程序",
    workspaces: (n: number) => `${n} 个工作区`,
    noWorkspaces: "没有工作区",
    close: "关闭"
  }
)
