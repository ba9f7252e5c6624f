/** What a person sees of a card in JSON 2.0, in one language. */
import { isJsonObject } from "@corral/domain/text/JsonObject"

export interface ShownButton {
  readonly label: string
  /** What a click sends. */
  readonly value?: unknown
  /** Where a link leads. */
  readonly url?: string
}

export interface ShownCard {
  readonly title: string
  readonly template: string
  readonly lines: ReadonlyArray<string>
  readonly buttons: ReadonlyArray<ShownButton>
  /** Names of the fields of its form. */
  readonly fields?: ReadonlyArray<string>
}

export type ShownLanguage = "en_us" | "zh_cn"

type Json = Readonly<Record<string, unknown>>

const json = (value: unknown): Json => (isJsonObject(value) ? value : {})
const list = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

const wordsOf = (text: unknown, language: ShownLanguage): string => {
  const { content, i18n_content } = json(text)
  return String(json(i18n_content)[language] ?? content ?? "")
}

/** Whether the platform takes it for a card that can be changed later. */
export const isCard = (content: unknown): boolean =>
  isJsonObject(content) &&
  content["schema"] === "2.0" &&
  json(content["config"])["update_multi"] === true &&
  Array.isArray(json(content["body"])["elements"])

export const shownCardOf = (content: unknown, language: ShownLanguage): ShownCard => {
  const { body, header } = json(content)
  const inside = (element: Json): ReadonlyArray<Json> => {
    if (element["tag"] === "form") return list(element["elements"]).flatMap(inside)
    return element["tag"] === "column_set"
      ? list(element["columns"]).flatMap((column) => list(column["elements"]).flatMap(inside))
      : [element]
  }
  const elements = list(json(body)["elements"]).flatMap(inside)
  const fields = elements.filter(
    ({ tag }) => tag === "input" || tag === "select_static" || tag === "multi_select_static"
  )
  const behaviour = (element: Json, type: string) =>
    list(element["behaviors"]).find((each) => each["type"] === type)
  return {
    title: wordsOf(json(header)["title"], language),
    template: String(json(header)["template"] ?? ""),
    lines: elements.filter(({ tag }) => tag === "div").map(({ text }) => wordsOf(text, language)),
    ...(fields.length === 0 ? {} : { fields: fields.map(({ name }) => String(name)) }),
    buttons: elements
      .filter(({ tag }) => tag === "button")
      .map((element) => {
        const [callback, link] = [behaviour(element, "callback"), behaviour(element, "open_url")]
        return {
          label: wordsOf(element["text"], language),
          ...(callback === undefined ? {} : { value: callback["value"] }),
          ...(link === undefined ? {} : { url: String(link["default_url"]) })
        }
      })
  }
}
