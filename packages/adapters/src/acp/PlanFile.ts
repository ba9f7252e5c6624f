/**
 * The newest plan that an agent has written into its folder for plans. Gemini hands over such a file by its path only.
 *
 * Does not: read a file. The report of the call that wrote it has the text.
 */
import { textOf } from "../text/Json.ts"
import type { ToolCall } from "./ToolCall.ts"

export class PlanFile {
  #path = ""
  #text = ""

  /** Reads a call that may have written the plan. */
  readCall({ content, status }: ToolCall): void {
    if (status !== "completed") return
    for (const block of content) {
      const diff: { readonly path?: unknown; readonly newText?: unknown } = block
      const [path, text] = [textOf(diff.path), textOf(diff.newText)]
      if (path === undefined || text === undefined || !path.endsWith(".md") || !path.includes("/plans/"))
        continue
      this.#path = path
      this.#text = text
    }
  }

  /** The plan whose path stands in the text; `undefined` if it is not known. */
  planIn(text: string): string | undefined {
    return this.#path !== "" && text.includes(this.#path) ? this.#text : undefined
  }
}
