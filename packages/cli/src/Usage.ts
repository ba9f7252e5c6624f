/** How a wrong command line is told: what is wrong, and where to read on. Help is printed only to those who ask for it. */
import { Console, Layer } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"

/** What a schema expects is said as what a parser expects. */
const plain = (message: string): string => message.replace("Expected: Schema validation failed: ", "")

const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
          [
            ...event.errors.map(({ message }) => plain(message)),
            `See ${event.commandPath.join(" ")} --help`
          ].join("\n")
        )
      : CliOutput.defaultPresenter.present(event)
}

/** The global flags and the manner of all commands. */
export const usageLayer = Layer.merge(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({
    // Scripts for shells are a command.
    builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.LogLevel]
  })
)
