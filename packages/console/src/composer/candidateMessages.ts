/** UI text of a task for several agents. */
import { bilingual } from "../text/Language.tsx"

export const candidateMessages = bilingual(
  {
    several: "Several agents…",
    title: "Ask several agents",
    text: "Each agent does the task in its own copy of the workspace. You compare the results, and accept the best of each.",
    agent: (n: number) => `Agent ${n}`,
    model: (n: number) => `Model of agent ${n}`,
    add: "Add agent",
    remove: (n: number) => `Remove agent ${n}`,
    use: (n: number) => `Use ${n} agents`,
    count: (n: number) => `${n} agents`,
    same: "Two agents are the same. Choose another agent or another model for one of them.",
    hint: (n: number) => `${n} agents, each in its own copy of the workspace`,
    noFiles: "Files can go to one agent only. Remove them, or choose one agent."
  },
  {
    several: "多个智能体…",
    title: "交给多个智能体",
    text: "每个智能体在各自的工作区副本中完成同一任务。您可以对比结果，并接受各自最好的部分。",
    agent: (n: number) => `智能体 ${n}`,
    model: (n: number) => `智能体 ${n} 的模型`,
    add: "添加智能体",
    remove: (n: number) => `移除智能体 ${n}`,
    use: (n: number) => `使用 ${n} 个智能体`,
    count: (n: number) => `${n} 个智能体`,
    same: "有两个智能体相同。请为其中一个选择其他智能体或模型。",
    hint: (n: number) => `${n} 个智能体，各自使用工作区副本`,
    noFiles: "文件只能发送给一个智能体。请移除文件，或只选一个智能体。"
  }
)
