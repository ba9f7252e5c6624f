/** Input requests for tests of the terminal. */
import type { Question, RequestedInput } from "@corral/domain/input/InputRequest"

export const colour: Question = {
  id: "colour",
  text: "Which colour?",
  kind: "choice",
  options: [
    { id: "red", label: "Red", description: "warm" },
    { id: "blue", label: "Blue" }
  ]
}
export const tools: Question = {
  id: "tools",
  header: "Tools",
  text: "Which tools?",
  kind: "choice",
  multiple: true,
  allowsOther: true,
  options: [
    { id: "a", label: "Lint" },
    { id: "b", label: "Test" },
    { id: "c", label: "Build" }
  ]
}
export const name: Question = { id: "name", text: "What is its name?", kind: "text" }
export const port: Question = {
  id: "port",
  text: "Which port?",
  kind: "number",
  integer: true,
  min: 1,
  max: 9_999,
  required: false
}
export const sure: Question = { id: "sure", text: "Are you sure?", kind: "boolean" }
export const token: Question = { id: "token", text: "Token?", kind: "text", secret: true }

export const requestOf = (...questions: ReadonlyArray<Question>): RequestedInput => ({
  kind: "question",
  title: questions[0]?.text ?? "Form",
  questions
})
export const plan: RequestedInput = {
  kind: "plan",
  title: "Tidy the notes",
  plan: "# Plan\n1. Read\n2. Write"
}
export const link: RequestedInput = { kind: "link", title: "Sign in", url: "https://example.com/device" }
