/** UI text of the changes of a run. */
import { bilingual } from "../text/Language.tsx"

export const diffMessages = bilingual(
  {
    title: "Changes",
    none: "No changes yet.",
    files: (n: number) => (n === 1 ? "1 file" : `${n} files`),
    layout: "Layout",
    unified: "Unified",
    split: "Side by side",
    expandAll: "Expand all",
    collapseAll: "Collapse all",
    refresh: "Refresh",
    binary: "Binary file. Its content is not shown.",
    empty: "Empty file.",
    truncated: "Too large to show in full. Open the file on the device to see all changes.",
    renamed: (from: string) => `renamed from ${from}`,
    moreFiles: "Show more files",
    lines: "Changed lines",
    hint: "Keyboard: n and p select the next and previous file, Enter expands or collapses it.",
    patchOf: (path: string) => `Patch of ${path}`,
    moreLines: (n: number) => `Show more (${n.toLocaleString("en")} lines left)`,
    status: { added: "added", modified: "modified", deleted: "deleted", renamed: "renamed", untracked: "new" }
  },
  {
    title: "更改",
    none: "还没有更改。",
    files: (n: number) => `${n} 个文件`,
    layout: "布局",
    unified: "合并视图",
    split: "并排视图",
    expandAll: "全部展开",
    collapseAll: "全部折叠",
    refresh: "刷新",
    binary: "二进制文件，不显示内容。",
    empty: "空文件。",
    truncated: "内容过大，未完整显示。请在设备上打开文件查看全部更改。",
    renamed: (from: string) => `原名 ${from}`,
    moreFiles: "显示更多文件",
    lines: "更改的行",
    hint: "快捷键：n 和 p 选择下一个或上一个文件，Enter 展开或折叠。",
    patchOf: (path: string) => `${path} 的补丁`,
    moreLines: (n: number) => `显示更多（还有 ${n.toLocaleString("en")} 行）`,
    status: { added: "新增", modified: "修改", deleted: "删除", renamed: "重命名", untracked: "新文件" }
  }
)
