/**
 * Text of an input request at a terminal: its questions with numbered options, its plan or its address, whole and as the program wrote it.
 *
 * Does not: select anything in advance.
 */
import type { Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { VALUE_INDENT } from "../terminal/Indent.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import type { Row } from "../terminal/WrapText.ts"

type Rows = ReadonlyArray<Row>

const linesOf = (text: string): ReadonlyArray<string> => escapeControls(text).replace(/\n$/, "").split("\n")

const indented = (text: string, indent: string): Rows =>
  linesOf(text).map((line) => [{ text: `${indent}${line}` }])

/** Number of the answer that the person writes. `undefined` if the question takes none. */
export const otherNumber = ({ allowsOther, options = [] }: Question): number | undefined =>
  allowsOther === true ? options.length + 1 : undefined

const rangeOf = ({ max, min }: Question): string => {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  if (min !== undefined) return ` from ${min}`
  return max === undefined ? "" : ` up to ${max}`
}

/** What kind of answer the question takes. */
const kindText = (question: Question): string => {
  const { format, integer, kind, multiple, secret } = question
  switch (kind) {
    case "choice":
      return multiple === true ? "one or more" : "one"
    case "boolean":
      return "yes or no"
    case "number":
      return `${integer === true ? "whole number" : "number"}${rangeOf(question)}`
    case "text":
      return `${secret === true ? "secret " : ""}text${format === undefined ? "" : `, ${escapeLine(format)}`}`
  }
}

const optionRows = (question: Question): Rows => {
  const other = otherNumber(question)
  return [
    ...(question.options ?? []).map(({ description, label }, at): Row => {
      const about = description === undefined ? "" : ` – ${escapeLine(description)}`
      return [{ text: `${VALUE_INDENT}${at + 1}. ${escapeLine(label)}` }, { text: about, style: "dim" }]
    }),
    ...(other === undefined ? [] : [[{ text: `${VALUE_INDENT}${other}. something else` }]])
  ]
}

/** What kind of answer, in parentheses. */
const aboutSpan = (question: Question) =>
  ({
    text: ` (${kindText(question)}${question.required === false ? ", optional" : ""})`,
    style: "dim"
  }) as const

/** One question. `number`: its place among several. */
export const questionRows = (question: Question, number?: number): Rows => {
  const { header, text } = question
  const place = number === undefined ? "" : `${number}. `
  const [first = "", ...rest] = linesOf(text)
  return [
    [
      { text: `  ${place}${header === undefined ? "" : `${escapeLine(header)}: `}${first}` },
      aboutSpan(question)
    ],
    ...rest.map((line): Row => [{ text: `  ${line}` }]),
    ...optionRows(question)
  ]
}

const heads = { question: "question", plan: "plan", link: "open an address" } as const

/** All lines of a request. */
export const requestLines = ({ kind, plan, questions = [], title, url }: RequestedInput): Rows => {
  const head: Row = [
    { text: heads[kind], style: ["bold", "yellow"] },
    { text: ": " },
    { text: escapeLine(title), style: "bold" }
  ]
  const [only, another] = questions
  // The title is the question.
  if (only !== undefined && another === undefined && only.text === title)
    return [[...head, aboutSpan(only)], ...optionRows(only)]
  return [
    head,
    ...(plan === undefined ? [] : indented(plan, "  ")),
    // Corral never opens it.
    ...(url === undefined ? [] : indented(url, VALUE_INDENT)),
    ...questions.flatMap((question, at) => questionRows(question, questions.length > 1 ? at + 1 : undefined))
  ]
}
