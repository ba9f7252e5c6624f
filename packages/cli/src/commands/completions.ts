/** `corral completions`: what a shell needs to complete commands, flags and their values. */
import { Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"
import { Host } from "../Host.ts"

/** `described` is the whole tree, this command among it. */
export const completionsOf = (described: () => Completions.CommandDescriptor) =>
  Command.make(
    "completions",
    {
      shell: Argument.Literals("shell", ["bash", "zsh", "fish"]).pipe(
        Argument.withDescription("Which shell: bash, zsh or fish")
      )
    },
    Effect.fn(function* ({ shell }) {
      const host = yield* Host
      host.write(`${Completions.generate("corral", shell, described())}\n`)
    })
  ).pipe(
    Command.withDescription("Print a script that completes this command in a shell"),
    Command.withExamples([
      {
        command: "corral completions bash > ~/.local/share/bash-completion/completions/corral",
        description: "bash"
      },
      { command: "corral completions zsh > ~/.zfunc/_corral", description: "zsh, with ~/.zfunc in fpath" },
      { command: "corral completions fish > ~/.config/fish/completions/corral.fish", description: "fish" }
    ])
  )
