/** Words of the overview. */
import { bilingual } from "../text/Language.tsx"

export const homeMessages = bilingual(
  {
    title: "Overview",
    waiting: "Waits for a decision",
    running: "At work",
    recent: "Lately",
    nothing: "Nothing is at work.",
    begin: "Begin here",
    steps: {
      project: ["Create a project", "It says who works together, and on what."],
      device: ["Add a device", "Agents work on machines of yours, beside the code."],
      workspace: [
        "Link a workspace",
        "Share the device with the project and link a folder of it, in the project."
      ],
      run: ["Start a run", "Ask an agent for something, and follow it here."]
    }
  },
  {
    title: "概览",
    waiting: "等待决定",
    running: "进行中",
    recent: "最近",
    nothing: "没有正在进行的运行。",
    begin: "从这里开始",
    steps: {
      project: ["创建项目", "项目说明谁在一起工作,以及工作对象。"],
      device: ["添加设备", "智能体在您自己的机器上、代码旁边工作。"],
      workspace: ["关联工作区", "将设备共享给项目,并在项目中关联它的一个文件夹。"],
      run: ["发起运行", "向智能体提出请求,并在这里关注进展。"]
    }
  }
)
