/** Lines for parts of a tool result that its output cannot show: images, recordings and files, which are artifacts of the run. */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { escapeLine } from "../terminal/VisibleText.ts"

type Content = PayloadOf<"run.tool.result">["content"]

/** One line for each part with an artifact: `image screen.png (art_…)`. */
export const contentLines = (content: Content): ReadonlyArray<string> =>
  (content ?? []).flatMap(({ artifactId, mediaType, name, type }) =>
    artifactId === undefined
      ? []
      : [
          `${type === "resource" ? "file" : type} ${escapeLine(name ?? mediaType ?? "")} (${artifactId})`.replaceAll(
            "  ",
            " "
          )
        ]
  )
