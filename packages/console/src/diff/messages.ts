/** What the diff says. */
import { bilingual } from "../text/Language.tsx"

export const diffMessages = bilingual(
  {
    title: "Changes",
    none: "Nothing is changed in the workspace so far.",
    files: (n: number) => (n === 1 ? "1 file" : `${n} files`),
    layout: "Layout",
    unified: "Unified",
    split: "Side by side",
    expandAll: "Expand all",
    collapseAll: "Collapse all",
    refresh: "Load again",
    binary: "A binary file: its content is not shown.",
    empty: "Without lines.",
    truncated: "Too large: some hunks were left out. Open the file on the device to see all of it.",
    renamed: (from: string) => `was ${from}`,
    moreFiles: "More files",
    loading: "Loading…",
    lines: "Changed lines",
    hint: "Keys: n and p go to the next and previous file, Enter opens or closes it.",
    patchOf: (path: string) => `Patch of ${path}`,
    moreLines: (n: number) => `Show more (${n.toLocaleString("en")} lines left)`,
    status: { added: "added", modified: "modified", deleted: "deleted", renamed: "renamed", untracked: "new" }
  },
  {
    title: "更改",
    none: "工作区目前没有更改。",
    files: (n: number) => `${n} 个文件`,
    layout: "布局",
    unified: "合并视图",
    split: "并排视图",
    expandAll: "全部展开",
    collapseAll: "全部折叠",
    refresh: "重新加载",
    binary: "二进制文件,不显示内容。",
    empty: "没有行。",
    truncated: "内容过大,部分区块已省略。请在设备上打开该文件查看全部。",
    renamed: (from: string) => `原为 ${from}`,
    moreFiles: "更多文件",
    loading: "加载中…",
    lines: "更改的行",
    hint: "按键:n 与 p 切换到下一个或上一个文件,Enter 展开或折叠。",
    patchOf: (path: string) => `${path} 的补丁`,
    moreLines: (n: number) => `显示更多(还有 ${n.toLocaleString("en")} 行)`,
    status: { added: "新增", modified: "修改", deleted: "删除", renamed: "重命名", untracked: "新文件" }
  }
)
