/**
 * Card as Feishu's JSON 2.0. Every text is `plain_text`, in each language of the clients, so no text is read as markup. A button contains only
 * its opaque id.
 */
import type { Card, CardButton, Tone } from "../platform/Card.ts"
import { type LocalizedText, localizedTextIn } from "../platform/LocalizedText.ts"

const templates: Readonly<Record<Tone, string>> = {
  neutral: "default",
  running: "blue",
  attention: "orange",
  good: "green",
  bad: "red"
}

const types = { primary: "primary", danger: "danger", plain: "default" } as const

/** `language` is for clients in other languages. */
export const toFeishuCard = ({ buttons, lines, title, tone }: Card, language: keyof LocalizedText) => {
  const plain = (words: LocalizedText) => ({
    tag: "plain_text",
    content: localizedTextIn(words, language),
    i18n_content: { en_us: words.en, zh_cn: words.zh }
  })
  const button = (each: CardButton) => ({
    tag: "button",
    text: plain(each.label),
    type: each._tag === "Action" ? types[each.style] : "default",
    behaviors: [
      each._tag === "Action"
        ? { type: "callback", value: { a: each.actionId } }
        : { type: "open_url", default_url: each.url }
    ]
  })
  const row = {
    tag: "column_set",
    flex_mode: "flow",
    columns: buttons.map((each) => ({ tag: "column", width: "auto", elements: [button(each)] }))
  }
  return {
    schema: "2.0",
    // A sent card can be updated only with this.
    config: { update_multi: true },
    header: { title: plain(title), template: templates[tone] },
    body: {
      elements: [
        ...lines.map((line) => ({ tag: "div", text: plain(line) })),
        ...(buttons.length === 0 ? [] : [row])
      ]
    }
  }
}
