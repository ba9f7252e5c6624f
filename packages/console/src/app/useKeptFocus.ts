/**
 * Focus of an element that goes away by what it did: a button that removes its row, the last "Show more", a button that waits for its answer, a
 * field of a dialog that closes.
 *
 * Guarantees: the focus returns to what opened a dialog, and to a button that was only disabled. Otherwise it goes to the nearest region that is
 * left, never to nothing, so that the next Tab continues there. *Does not:* focus a button instead of another, or take a focus that the user or
 * the page has moved.
 */
import { useEffect } from "react"
import { DIALOGS } from "../keys/TextKey.ts"

/** Time in which a page or a dialog that closes moves the focus itself, in milliseconds. */
const SETTLE_MS = 100

/** Where the focus can wait. */
const REGIONS = "section, ul, ol, table, form, fieldset, aside, nav, [role=group], [role=log], main"

const regionsOf = (element: Element): ReadonlyArray<HTMLElement> => {
  const regions: Array<HTMLElement> = []
  for (let up = element.parentElement; up !== null; up = up.parentElement)
    if (up.matches(REGIONS)) regions.push(up)
  return regions
}

const isUsable = (element: HTMLElement): boolean =>
  element.isConnected && !element.matches(":disabled") && element.checkVisibility()

class FocusKeeper {
  private last: HTMLElement | undefined
  private regions: ReadonlyArray<HTMLElement> = []
  /** What had the focus before each open dialog or menu. */
  private openers: ReadonlyArray<HTMLElement> = []
  private substitute: HTMLElement | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  readonly onFocusIn = ({ target }: FocusEvent): void => {
    if (!(target instanceof HTMLElement) || target === this.substitute) return
    this.release()
    const popup = target.closest(DIALOGS)
    if (popup === null) this.openers = []
    else if (this.last !== undefined && !popup.contains(this.last))
      this.openers = [...this.openers, this.last]
    this.regions = [target, ...this.openers.toReversed()].flatMap(regionsOf)
    this.last = target
  }

  /** Where the element stays usable, the user has taken its focus away. A disabled one loses it with the next frame. */
  readonly onFocusOut = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget !== null) return
    requestAnimationFrame(() => {
      const { last, substitute } = this
      if (substitute === undefined && last !== undefined && isUsable(last)) this.last = undefined
      this.check()
    })
  }

  /** After changes of the page. */
  readonly check = (): void => {
    const { last, substitute } = this
    if (
      last !== undefined &&
      substitute !== undefined &&
      document.activeElement === substitute &&
      isUsable(last)
    )
      last.focus({ preventScroll: true })
    else if (this.isLost) this.timer ??= setTimeout(this.keep, SETTLE_MS)
  }

  stop(): void {
    clearTimeout(this.timer)
  }

  private get isLost(): boolean {
    const { activeElement, body } = document
    return (
      (activeElement === body || activeElement === null) && this.last !== undefined && !isUsable(this.last)
    )
  }

  private readonly keep = (): void => {
    this.timer = undefined
    if (!this.isLost) return
    this.substitute?.removeAttribute("data-kept-focus")
    const opener = this.openers.findLast(isUsable)
    if (opener !== undefined) return opener.focus({ preventScroll: true })
    const region = this.regions.find(isUsable) ?? document.querySelector<HTMLElement>("main")
    if (region === null || region === undefined) return
    this.substitute = region
    if (!region.hasAttribute("tabindex")) region.tabIndex = -1
    region.setAttribute("data-kept-focus", "")
    region.focus({ preventScroll: true })
  }

  private release(): void {
    this.substitute?.removeAttribute("data-kept-focus")
    this.substitute = undefined
  }
}

export const useKeptFocus = (): void => {
  useEffect(() => {
    const keeper = new FocusKeeper()
    let frame: number | undefined
    const observer = new MutationObserver(() => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined
        keeper.check()
      })
    })
    document.addEventListener("focusin", keeper.onFocusIn)
    document.addEventListener("focusout", keeper.onFocusOut)
    observer.observe(document.body, {
      subtree: true,
      childList: true,
      attributeFilter: ["disabled", "hidden"]
    })
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame)
      keeper.stop()
      observer.disconnect()
      document.removeEventListener("focusin", keeper.onFocusIn)
      document.removeEventListener("focusout", keeper.onFocusOut)
    }
  }, [])
}
