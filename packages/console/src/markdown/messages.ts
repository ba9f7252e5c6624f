/** UI text of long texts and images. */
import { bilingual } from "../text/Language.tsx"

const count = (n: number) => n.toLocaleString("en")

export const markdownMessages = bilingual(
  { more: (left: number) => `Show more (${count(left)} characters left)`, image: "image" },
  { more: (left: number) => `显示更多（还有 ${count(left)} 个字符）`, image: "图片" }
)
