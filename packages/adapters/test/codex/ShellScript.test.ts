import { assert, describe, it } from "@effect/vitest"
import { scriptOf } from "../../src/codex/Tools.ts"

describe("scriptOf", () => {
  it("takes the script out of a shell's command line", () => {
    for (const [line, script] of [
      ["/bin/bash -lc 'touch a.txt && echo created'", "touch a.txt && echo created"],
      ["/usr/bin/zsh -lc ls", "ls"],
      ["bash -c 'ls'", "ls"],
      [`/bin/bash -lc "echo 'hi'"`, "echo 'hi'"],
      [`/bin/bash -lc "echo \\"a\\" \\$HOME"`, 'echo "a" $HOME'],
      [`/bin/sh -c 'it'"'"'s'`, "it's"],
      ["/bin/bash -lc 'a\nb'", "a\nb"]
    ]) {
      assert.strictEqual(scriptOf(line ?? ""), script)
    }
  })

  it("leaves anything else as it is", () => {
    for (const line of [
      "",
      "ls -la",
      "/bin/bash script.sh",
      "/bin/bash -lc",
      "/bin/bash -lc 'ls' extra",
      "/bin/bash -lc 'ls'; rm -rf .",
      "/bin/bash -lc 'ls' && rm x",
      "/bin/bash -lc 'ls",
      '/bin/bash -lc "echo $HOME"',
      '/bin/bash -lc "echo `id`"',
      "/bin/bash -lc ls > x",
      "/bin/bash -ic 'ls'",
      "/bin/bash  -lc 'ls'",
      "python3 -c 'print()'",
      "fish -c 'ls'",
      "env A=b /bin/bash -lc 'ls'",
      " /bin/bash -lc 'ls'",
      "/bin/bash -lc 'ls' ",
      `/bin/bash -lc '${"x".repeat(200_000)}'`
    ]) {
      assert.strictEqual(scriptOf(line), line)
    }
  })
})
