/** UI text of the overview. */
import { bilingual } from "../text/Language.tsx"

export const homeMessages = bilingual(
  {
    title: "Overview",
    waiting: "Needs your decision",
    running: "Running",
    recent: "Recent",
    nothing: "No active runs.",
    begin: "Get started",
    steps: {
      project: ["Create a project", "A project brings people, devices and workspaces together."],
      device: ["Add a device", "Agents run on your own machines, next to the code."],
      workspace: [
        "Link a workspace",
        "Share the device with the project, then link one of its folders to the project."
      ],
      run: ["Start a run", "Give an agent a task and follow it here."]
    }
  },
  {
    title: "概览",
    waiting: "需要您处理",
    running: "运行中",
    recent: "最近",
    nothing: "没有进行中的运行。",
    begin: "开始使用",
    steps: {
      project: ["创建项目", "项目将协作的人员、设备和工作区组织在一起。"],
      device: ["添加设备", "智能体在您自己的机器上、代码所在处运行。"],
      workspace: ["关联工作区", "将设备共享给项目，再把设备上的文件夹关联到项目。"],
      run: ["启动运行", "给智能体布置任务，并在这里查看进展。"]
    }
  }
)
