/** UI text of the board. */
import { bilingual } from "../text/Language.tsx"

export const boardMessages = bilingual(
  {
    title: "Board",
    allRuns: "All runs",
    project: "Project",
    allProjects: "All projects",
    waitsFor: (device: string) => (device === "" ? "Waiting for its device" : `Waiting for ${device}`),
    changes: (added: number, removed: number) => `${added} lines added, ${removed} removed`,
    filesToDecide: (n: number) => (n === 1 ? "1 file to decide" : `${n} files to decide`),
    risks: { low: "Low risk", medium: "Medium risk", high: "High risk" },
    columns: {
      waiting: "Waiting",
      working: "Working",
      needsYou: "Needs you",
      toReview: "To review",
      done: "Done"
    },
    empty: {
      waiting: "Nothing is waiting.",
      working: "Nothing is running.",
      needsYou: "Nothing needs you.",
      toReview: "You have read all results.",
      done: "Nothing is done yet."
    }
  },
  {
    title: "看板",
    allRuns: "所有运行",
    project: "项目",
    allProjects: "全部项目",
    waitsFor: (device: string) => (device === "" ? "等待设备" : `等待 ${device}`),
    changes: (added: number, removed: number) => `新增 ${added} 行，删除 ${removed} 行`,
    filesToDecide: (n: number) => `${n} 个文件待决定`,
    risks: { low: "低风险", medium: "中风险", high: "高风险" },
    columns: {
      waiting: "等待中",
      working: "进行中",
      needsYou: "等您处理",
      toReview: "待查看",
      done: "已完成"
    },
    empty: {
      waiting: "没有等待中的运行。",
      working: "没有进行中的运行。",
      needsYou: "没有需要您处理的事项。",
      toReview: "所有结果都已查看。",
      done: "还没有完成的运行。"
    }
  }
)
