/**
 * Keys of an input method. Text fields ask here before they act on a key: Enter that accepts a candidate neither sends nor selects.
 *
 * Browsers disagree on the order: Chromium and Firefox send the key within the composition, Safari ends the composition first and sends the key
 * right after it, with the key code 229 or without.
 */
import { useState } from "react"

/** Time after a composition in which a key still belongs to it. */
const AFTER_END_MS = 100

/** What a keyboard event says about its composition. */
export interface ComposedKey {
  readonly isComposing: boolean
  readonly keyCode: number
  /** Milliseconds of the clock that `end` received too. */
  readonly timeStamp: number
}

/** Compositions of one text field. */
export class Composition {
  private isOpen = false
  private endedAt = Number.NEGATIVE_INFINITY

  start(): void {
    this.isOpen = true
  }

  end(timeStamp: number): void {
    this.isOpen = false
    this.endedAt = timeStamp
  }

  /** Whether the key belongs to the input method. */
  owns({ isComposing, keyCode, timeStamp }: ComposedKey): boolean {
    return this.isOpen || isComposing || keyCode === 229 || timeStamp - this.endedAt < AFTER_END_MS
  }
}

interface CompositionHandlers {
  readonly onCompositionStart: () => void
  readonly onCompositionEnd: (event: { readonly timeStamp: number }) => void
}

/** Handlers for a text field, and whether one of its keys belongs to the input method. */
export const useComposition = (): readonly [
  CompositionHandlers,
  (event: { readonly nativeEvent: ComposedKey }) => boolean
] => {
  const [composition] = useState(() => new Composition())
  return [
    {
      onCompositionStart: () => composition.start(),
      onCompositionEnd: ({ timeStamp }) => composition.end(timeStamp)
    },
    ({ nativeEvent }) => composition.owns(nativeEvent)
  ]
}
