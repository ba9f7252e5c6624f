/** Confined runs and the state of runtimes: what they see, and what they leave. */
import { describe, it, onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { createServer } from "node:net"
import { canConfine } from "./CanConfine.ts"
import { allFolders, assertNothingPlanted, confinedModes, runScript } from "./ConfinedPlanting.ts"
import { StateHome, write } from "./StateHome.ts"

describe.runIf(canConfine)("A confined run", () => {
  it.each(confinedModes)("in %s leaves nothing in the user's home", (mode) => assertNothingPlanted(mode, 60))

  it("sees its settings, its sign-in and its conversation, and nothing else of the state", async () => {
    const place = new StateHome(allFolders)
    write(place.path(".claude/settings.json"), "settings")
    write(place.path(".claude/.credentials.json"), "{}")
    write(place.path(".claude/history.jsonl"), "history")
    write(place.path(".claude/projects/-other/0000000a-0000-4000-8000-00000000000a.jsonl"), "other")
    write(place.path(".codex/state_5.sqlite"), "database")
    write(place.path(".codex/sessions/2026/11/28/rollout-x.jsonl"), "other")
    write(place.path(".claude/skills/a"), "")
    const server = createServer().listen(place.path(".claude/skills/socket"))
    onTestFinished(() => void server.close())
    await once(server, "listening")
    await runScript(
      place,
      "read_only",
      `set -e
refused() { if "$@" > /dev/null 2>&1; then exit 1; fi; }
cat ~/.claude/settings.json ~/.claude/.credentials.json > /dev/null
refused sh -c 'printf x > ~/.claude/settings.json'
refused rm ~/.claude/settings.json
refused cat ~/.claude/history.jsonl
refused ls ~/.claude/projects
refused cat ~/.codex/state_5.sqlite
refused ls ~/.codex/sessions
refused test -S ~/.claude/skills/socket`
    )
  })
})
