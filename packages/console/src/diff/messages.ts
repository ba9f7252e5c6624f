/** UI text of changed lines. */
import { bilingual } from "../text/Language.tsx"

const count = (n: number) => n.toLocaleString("en")

export const diffMessages = bilingual(
  {
    patchOf: (path: string) => `Patch of ${path}`,
    hunk: (from: number, to: number) => (from === to ? `Line ${from}` : `Lines ${from}–${to}`),
    moreLines: (n: number) => `Show more (${count(n)} lines left)`,
    moreCharacters: (n: number) => `Show ${count(n)} characters`
  },
  {
    patchOf: (path: string) => `${path} 的补丁`,
    hunk: (from: number, to: number) => (from === to ? `第 ${from} 行` : `第 ${from}–${to} 行`),
    moreLines: (n: number) => `显示更多（还有 ${count(n)} 行）`,
    moreCharacters: (n: number) => `显示 ${count(n)} 个字符`
  }
)
