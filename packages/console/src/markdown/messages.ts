/** UI text of long texts and images. */
import { bilingual } from "../text/Language.tsx"

const count = (n: number) => n.toLocaleString("en")

export const markdownMessages = bilingual(
  {
    more: (left: number) => `Show more (${count(left)} characters left)`,
    before: (left: number) => `Show all (${count(left)} characters before)`,
    image: "image",
    copyCode: "Copy code",
    copyOutput: "Copy output",
    copyCommand: "Copy command",
    copyInput: "Copy input",
    copyAnswer: "Copy answer"
  },
  {
    more: (left: number) => `显示更多（还有 ${count(left)} 个字符）`,
    before: (left: number) => `显示全部（前面还有 ${count(left)} 个字符）`,
    image: "图片",
    copyCode: "复制代码",
    copyOutput: "复制输出",
    copyCommand: "复制命令",
    copyInput: "复制输入",
    copyAnswer: "复制回答"
  }
)
