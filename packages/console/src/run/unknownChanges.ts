/** UI text of changes that are unknown, and of files that were not compared. */
import type { UnknownChangesReason } from "@corral/domain/changes/UnknownChanges"
import { bilingual } from "../text/Language.tsx"

const en = {
  title: "Changes unknown",
  review: "The turn may have changed any file. Look at the workspace on the device.",
  reasons: {
    no_git: "The device has no git program. Install git there.",
    too_large: "The workspace could not be read within the time limit.",
    no_start: "There is no snapshot of the workspace from the start of the turn.",
    interrupted: "The Edge ended before the turn did.",
    failed: "git could not read the workspace."
  } satisfies Record<UnknownChangesReason, string>,
  leftOut: (n: number) => (n === 1 ? "1 file was not compared:" : `${n} files were not compared:`),
  more: (n: number) => `and ${n} more`
}

export const unknownChangesMessages = bilingual(en, {
  title: "更改未知",
  review: "本轮可能更改了任何文件，请在设备上查看工作区。",
  reasons: {
    no_git: "设备上没有 git 程序，请先安装。",
    too_large: "未能在时限内读完工作区。",
    no_start: "没有本轮开始时的工作区快照。",
    interrupted: "Edge 在本轮结束之前退出了。",
    failed: "git 无法读取工作区。"
  },
  leftOut: (n) => `有 ${n} 个文件未能比较：`,
  more: (n) => `以及另外 ${n} 个`
})

/** Text of a reason. One of a later version has none. */
export const reasonText = (reasons: typeof en.reasons, reason: unknown): string | undefined =>
  typeof reason === "string" && Object.hasOwn(reasons, reason)
    ? reasons[reason as UnknownChangesReason]
    : undefined
