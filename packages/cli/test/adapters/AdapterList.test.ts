import { assert, describe, it } from "@effect/vitest"
import { formatAdapters, LIST_COLUMNS } from "../../src/adapters/AdapterList.ts"

describe("AdapterList", () => {
  it("fits its lines into 44 columns", () => {
    const lines = formatAdapters(
      {
        adapters: [
          {
            id: `custom:${"long".repeat(20)}`,
            label: "Long",
            source: "configured",
            installed: true,
            version: "1.2.3-with-a-long-name",
            path: `/${"folder/".repeat(20)}program`,
            modes: ["read_only", "plan", "ask", "auto_edit", "full_access"]
          },
          { id: "text\u001b[31m", label: "Text", source: "built in", installed: false, modes: [] }
        ],
        problems: []
      },
      LIST_COLUMNS,
      (_, text) => text
    )
    assert.lengthOf(lines, 6)
    for (const line of lines) assert.isAtMost(line.length, 44, line)
    assert.include(lines[2], "full_access")
  })
})
