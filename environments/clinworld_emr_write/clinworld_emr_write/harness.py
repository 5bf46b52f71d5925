"""The program that plays a rollout under verifiers 0.4: a chat loop in this process, with the record system's tools where asked for.

It starts nothing, fetches nothing and talks to the given endpoint only. Tools run on the live record system between two model calls.
"""

from typing import Any

import httpx
import verifiers.v1 as vf

from .rows import read_arguments
from .session import list_tools
from .taskset import EmrData

_OK = 200


class EmrHarnessConfig(vf.HarnessConfig):
    """`--env.agent.harness.<name>`."""

    request_timeout_s: float = 600.0
    """Seconds one model call may take."""


class EmrHarness(vf.Harness[EmrHarnessConfig]):
    """The loop. It ends when the policy calls finish or answers in words; the turns are limited by the agent's `max_turns`."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: vf.Trace, runtime: vf.Runtime, endpoint: str, secret: str, mcp_urls: dict[str, str], data: vf.TaskData
    ) -> vf.ProgramResult:
        """Play one rollout to its end."""
        assert isinstance(data, EmrData), "this harness plays the rows of its own package"
        system, prompt = self.resolve_text_prompt(data)
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        arguments = read_arguments(data.arguments)
        request: dict[str, Any] = {"model": ctx.model, "messages": messages}
        session = None
        if arguments.mode == "tools":
            session = trace.state.open_session()
            request["tools"] = [{"type": "function", "function": tool} for tool in list_tools(arguments.language)]
        async with httpx.AsyncClient(timeout=self.config.request_timeout_s, trust_env=False) as client:
            while True:
                reply = await client.post(f"{endpoint}/chat/completions", json=request, headers={"Authorization": f"Bearer {secret}"})
                if reply.status_code != _OK:
                    return vf.ProgramResult(exit_code=1, stdout="", stderr=reply.text)
                message = reply.json()["choices"][0]["message"]
                calls = message.get("tool_calls") or []
                if session is None or not calls:
                    return vf.ProgramResult(exit_code=0, stdout="", stderr="")
                messages.append({name: value for name, value in message.items() if value is not None})
                for call in calls:
                    function = call["function"]
                    said = session.call(function["name"], function.get("arguments") or "")
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})
                if session.is_finished:
                    return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    async def cleanup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """A conversation that broke off is ended, and its record system put back."""
        trace.state.close_session()
