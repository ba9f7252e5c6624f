/**
 * A card as Feishu's JSON 2.0. Every text is `plain_text`, which the platform reads as nothing else, in each language of its clients. A
 * button carries its opaque id and nothing besides.
 */
import type { Card, CardButton, Tone } from "../platform/Card.ts"
import { type Words, wordsIn } from "../platform/Words.ts"

const templates: Readonly<Record<Tone, string>> = {
  neutral: "default",
  running: "blue",
  attention: "orange",
  good: "green",
  bad: "red"
}

const types = { primary: "primary", danger: "danger", plain: "default" } as const

/** `language`: for clients in any other. */
export const toFeishuCard = ({ buttons, lines, title, tone }: Card, language: keyof Words) => {
  const plain = (words: Words) => ({
    tag: "plain_text",
    content: wordsIn(words, language),
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
    // Without it a card that is sent cannot be changed.
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
