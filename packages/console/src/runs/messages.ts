/** Words of the lists of runs. */
import { bilingual } from "../text/Language.tsx"

export const runsMessages = bilingual(
  {
    title: "Runs",
    none: "No run here yet.",
    noneHint: "A run is one piece of work of an agent, on a device of yours.",
    project: "Project",
    state: "State",
    device: "Device",
    all: "All",
    waits: (n: number) => (n === 1 ? "1 approval waits" : `${n} approvals wait`),
    list: "Runs"
  },
  {
    title: "运行",
    none: "这里还没有运行。",
    noneHint: "一次运行是智能体在您的设备上完成的一项工作。",
    project: "项目",
    state: "状态",
    device: "设备",
    all: "全部",
    waits: (n: number) => `${n} 项待审批`,
    list: "运行"
  }
)
