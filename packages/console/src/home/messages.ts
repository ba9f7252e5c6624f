/** UI text of the home page. */
import { bilingual } from "../text/Language.tsx"

export const homeMessages = bilingual(
  {
    title: "Home",
    startTitle: "New session",
    needsYou: "Needs you",
    review: "Review",
    compare: "Compare",
    changes: "Changes",
    changesWaiting: "Changes that wait for a decision",
    filesToDecide: (n: number) =>
      n === 1 ? "1 file to decide" : `${n.toLocaleString("en")} files to decide`,
    conflicts: (n: number) => (n === 1 ? "1 conflict" : `${n} conflicts`),
    allowed: "Allowed once",
    denied: "Denied",
    working: "Working",
    finished: "Finished since your last visit",
    quiet: "Nothing needs you.",
    allRuns: "All runs",
    project: "Project",
    workspace: "Workspace",
    agent: "Agent",
    goneWorkspace: "not available on the device",
    worktree: "Work in a separate git worktree",
    layer: "Change nothing until I accept it",
    noAgent: "No agent",
    noAgentHint: (device: string) => `Install an agent on ${device} to start`,
    notSignedIn: "not signed in",
    missing: (n: number) => (n === 1 ? "Add another agent…" : `Add one of ${n} more agents…`),
    noModes: "This agent and this workspace have no mode in common",
    noProject: "Create a project to start",
    noPlace: (project: string) => `Link a workspace to ${project} to start`,
    begin: "Begin here",
    beginHint: "Three steps, then an agent works on your code. Each step completes itself.",
    done: "done",
    steps: {
      project: ["Create a project", "A project brings people, devices and workspaces together.", "Create"],
      device: ["Add a device", "Agents run on your own machines, next to the code.", "Add"],
      workspace: [
        "Link a workspace",
        "Share the device with the project, then link one of its folders to the project.",
        "Link"
      ],
      run: ["Ask an agent", "Write what it should do, and follow it here.", "Ask"]
    }
  },
  {
    title: "首页",
    startTitle: "新会话",
    needsYou: "等您处理",
    review: "查看",
    compare: "对比",
    changes: "更改",
    changesWaiting: "等待决定的更改",
    filesToDecide: (n: number) => `${n.toLocaleString("en")} 个文件待决定`,
    conflicts: (n: number) => `${n} 个冲突`,
    allowed: "已允许一次",
    denied: "已拒绝",
    working: "进行中",
    finished: "上次访问后完成",
    quiet: "没有需要您处理的事项。",
    allRuns: "全部运行",
    project: "项目",
    workspace: "工作区",
    agent: "智能体",
    goneWorkspace: "在设备上不可用",
    worktree: "在独立的 git 工作树中工作",
    layer: "在我接受之前不改动工作区",
    noAgent: "没有智能体",
    noAgentHint: (device: string) => `请先在 ${device} 上安装智能体`,
    notSignedIn: "尚未登录",
    missing: (n: number) => `还可添加 ${n} 个智能体…`,
    noModes: "此智能体与此工作区没有共同支持的模式",
    noProject: "请先创建项目",
    noPlace: (project: string) => `请先为 ${project} 关联工作区`,
    begin: "从这里开始",
    beginHint: "只需三步，智能体就能处理您的代码。完成的步骤会自动打勾。",
    done: "已完成",
    steps: {
      project: ["创建项目", "项目将协作的人员、设备和工作区组织在一起。", "创建"],
      device: ["添加设备", "智能体在您自己的机器上、代码所在处运行。", "添加"],
      workspace: ["关联工作区", "将设备共享给项目，再把设备上的文件夹关联到项目。", "关联"],
      run: ["向智能体提出任务", "写下要做的事，并在这里查看进展。", "提出任务"]
    }
  }
)
