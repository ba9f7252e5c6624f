/** Words of the audit trail. */
import { bilingual } from "../text/Language.tsx"

export const auditWords = bilingual(
  {
    title: "Audit",
    project: "Project",
    own: "What I did",
    actor: "Who (id)",
    action: "Action",
    from: "From",
    to: "Until",
    filter: "Filter",
    verify: "Verify the chain",
    verified: (n: number) => `The chain is whole: ${n} records checked.`,
    broken: (n: number) => `The chain is broken at record ${n}. Somebody has changed the trail.`,
    export: "Export",
    none: "No record fits.",
    time: "Time",
    resource: "On what",
    outcome: "Outcome",
    request: "Request",
    caption: "Records, the latest first"
  },
  {
    title: "审计",
    project: "项目",
    own: "我的操作",
    actor: "操作者(ID)",
    action: "操作",
    from: "从",
    to: "到",
    filter: "筛选",
    verify: "验证链",
    verified: (n: number) => `链完整:已检查 ${n} 条记录。`,
    broken: (n: number) => `链在第 ${n} 条记录处断裂。审计记录被改动过。`,
    export: "导出",
    none: "没有符合的记录。",
    time: "时间",
    resource: "对象",
    outcome: "结果",
    request: "请求",
    caption: "记录,最新在前"
  }
)
