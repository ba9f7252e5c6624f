/**
 * Card as Feishu's JSON 2.0. Fields are a form, with the buttons that send it. Every text is `plain_text`, in each language of the clients, so no text is read as markup. A button contains only
 * its opaque id.
 */
import { safeText } from "@corral/domain/text/SafeText"
import {
  type Card,
  type CardButton,
  type CardField,
  type LocalizedText,
  type Tone,
  localizedTextIn
} from "../platform/ChatPlatform.ts"

const templates: Readonly<Record<Tone, string>> = {
  neutral: "default",
  running: "blue",
  attention: "orange",
  good: "green",
  bad: "red"
}

/** Feishu's limit of an input field, in characters. */
const INPUT_MAX = 1_000

const types = { primary: "primary", danger: "danger", plain: "default" } as const

/** `language` is for clients in other languages. */
export const toFeishuCard = (
  { buttons, fields = [], lines, title, tone }: Card,
  language: keyof LocalizedText
) => {
  const plain = (words: LocalizedText) => ({
    tag: "plain_text",
    content: safeText(localizedTextIn(words, language)),
    i18n_content: { en_us: safeText(words.en), zh_cn: safeText(words.zh) }
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
  const row = (elements: ReadonlyArray<object>) => ({
    tag: "column_set",
    flex_mode: "flow",
    columns: elements.map((element) => ({ tag: "column", width: "auto", elements: [element] }))
  })
  const submits = (each: CardButton): boolean => each._tag === "Action" && each.submits === true
  const submit = (each: CardButton, at: number) => ({
    ...button(each),
    name: `submit-${at}`,
    form_action_type: "submit"
  })
  const fieldElements = (field: CardField): ReadonlyArray<object> => [
    { tag: "div", text: plain(field.label) },
    field._tag === "Text"
      ? { tag: "input", name: field.name, input_type: "multiline_text", width: "fill", max_length: INPUT_MAX }
      : {
          tag: field.multiple ? "multi_select_static" : "select_static",
          name: field.name,
          width: "fill",
          options: field.options.map(({ label, value }) => ({ text: plain(label), value }))
        }
  ]
  const form = {
    tag: "form",
    name: "form",
    elements: [...fields.flatMap(fieldElements), row(buttons.filter(submits).map(submit))]
  }
  const outside = fields.length === 0 ? buttons : buttons.filter((each) => !submits(each))
  return {
    schema: "2.0",
    // A sent card can be updated only with this.
    config: { update_multi: true },
    header: { title: plain(title), template: templates[tone] },
    body: {
      elements: [
        ...lines.map((line) => ({ tag: "div", text: plain(line) })),
        ...(fields.length === 0 ? [] : [form]),
        ...(outside.length === 0 ? [] : [row(outside.map(button))])
      ]
    }
  }
}
