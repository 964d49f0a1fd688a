"""The command palette's contents: what can be done where the focus is, found by any of its letters."""

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from ui.tui.commands import Offered, key_names, offered


class OfferedCommands(Provider):
    """Offers the commands of the focused scope and of those around it."""

    async def startup(self) -> None:
        """See what is on offer."""
        self._offered = list(offered(self.screen))
        self._keys = key_names(self.screen)

    async def discover(self) -> Hits:
        """Everything that is on offer."""
        for one in self._offered:
            yield DiscoveryHit(self._shown(one), partial(self._run, one), help=one.command.help)

    async def search(self, query: str) -> Hits:
        """What is on offer under such a name, or does such a thing."""
        matcher = self.matcher(query)
        for one in self._offered:
            words = f"{one.command.title} {one.command.id} {one.command.help}"
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, self._shown(one), partial(self._run, one), text=words, help=one.command.help)

    def _shown(self, one: Offered) -> Content:
        keys = " ".join(self._keys.get(one.command.id, ()))
        return Content.assemble(one.command.title, (f"  {keys}  {one.command.id}", "$text-muted"))

    async def _run(self, one: Offered) -> None:
        await self.app.run_action(one.command.action, one.node)
