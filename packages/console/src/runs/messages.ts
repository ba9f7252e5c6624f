/** UI text of run lists. */
import { bilingual } from "../text/Language.tsx"

export const runsMessages = bilingual(
  {
    title: "Runs",
    none: "No runs yet.",
    noneHint: "In a run, an agent works on one task, on one of your devices.",
    noMatch: "No runs match these filters.",
    clear: "Clear filters",
    project: "Project",
    state: "State",
    device: "Device",
    all: "All",
    waits: (n: number) => (n === 1 ? "1 pending approval" : `${n} pending approvals`),
    list: "Runs"
  },
  {
    title: "运行",
    none: "还没有运行。",
    noneHint: "一次运行是智能体在您的设备上完成的一项任务。",
    noMatch: "没有符合筛选条件的运行。",
    clear: "清除筛选",
    project: "项目",
    state: "状态",
    device: "设备",
    all: "全部",
    waits: (n: number) => `${n} 项待处理的审批`,
    list: "运行"
  }
)
