/** UI text of groups of candidates. */
import type { CheckState } from "@corral/domain/run/Check"
import { bilingual } from "../text/Language.tsx"

const enStates: Record<CheckState, string> = {
  waiting: "waiting",
  running: "running",
  passed: "passed",
  failed: "failed",
  timed_out: "timed out",
  stopped: "stopped",
  unavailable: "not run"
}

const zhStates: Record<CheckState, string> = {
  waiting: "等待中",
  running: "运行中",
  passed: "通过",
  failed: "未通过",
  timed_out: "超时",
  stopped: "已停止",
  unavailable: "未运行"
}

export const groupMessages = bilingual(
  {
    group: (n: number) => `${n} agents`,
    progress: (ended: number, all: number) => (ended === all ? "All done" : `${ended} of ${all} done`),
    compare: "Compare",
    stop: "Stop all",
    pause: "Pause all",
    resume: "Resume all",
    refused: (label: string, reason: string) => `${label}: ${reason}`,
    candidate: (letter: string) => `Agent ${letter}`,
    candidates: "Agents of this task",
    continued: "Continued",
    closed: "Closed",
    waits: "Waiting to start",
    defaultModel: "default model",
    noChanges: "No changes",
    decided: "All decided",
    files: (n: number) => (n === 1 ? "1 file" : `${n.toLocaleString("en")} files`),
    continuedWith: (label: string) => `Continued with ${label}`,
    passed: (n: number, all: number) => `Checks pass for ${n} of ${all}`,
    checkStates: enStates,
    check: (name: string, state: string) => `${name} ${state}`,
    checkOutput: (name: string) => `Check “${name}”`,
    exitCode: (code: number) => `exit code ${code}`,
    outputCut: "The beginning of the output is missing.",
    noOutput: "The command printed nothing.",
    checksOld: "Checked before your last decision",
    close: "Close"
  },
  {
    group: (n: number) => `${n} 个智能体`,
    progress: (ended: number, all: number) => (ended === all ? "全部完成" : `已完成 ${ended} / ${all}`),
    compare: "对比",
    stop: "全部停止",
    pause: "全部暂停",
    resume: "全部继续",
    refused: (label: string, reason: string) => `${label}：${reason}`,
    candidate: (letter: string) => `智能体 ${letter}`,
    candidates: "此任务的智能体",
    continued: "已选用",
    closed: "已关闭",
    waits: "等待开始",
    defaultModel: "默认模型",
    noChanges: "没有更改",
    decided: "已全部决定",
    files: (n: number) => `${n.toLocaleString("en")} 个文件`,
    continuedWith: (label: string) => `已选用 ${label}`,
    passed: (n: number, all: number) => `${n} / ${all} 个通过检查`,
    checkStates: zhStates,
    check: (name: string, state: string) => `${name} ${state}`,
    checkOutput: (name: string) => `检查“${name}”`,
    exitCode: (code: number) => `退出码 ${code}`,
    outputCut: "输出的开头部分已省略。",
    noOutput: "命令没有输出。",
    checksOld: "检查在您上次决定之前完成",
    close: "关闭"
  }
)
