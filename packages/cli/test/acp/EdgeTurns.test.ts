/** The turns of an editor at a local Edge. */
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { describe, it, onTestFinished } from "@effect/vitest"
import { driveEditorTurns } from "./EditorTurns.ts"
import { TestEditor } from "./TestEditor.ts"

describe("An editor at a local Edge", () => {
  it("drives five turns, reconnects in the middle of one and resumes", async () => {
    const edge = await openEdgeInProcess()
    await driveEditorTurns(async () => {
      const editor = await TestEditor.open({
        home: edge.home,
        capabilities: { elicitation: { form: {} } }
      })
      onTestFinished(() => editor.close())
      return editor
    })
  })
})
